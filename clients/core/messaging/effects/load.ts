import { create } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import {
  type ConversationRecord,
  ConversationRecordSchema,
  MemberListSchema,
  StagedCommitSchema,
} from "@signet/proto/client/v1/records"
import type { Storage, Trust } from "../deps.ts"
import type { OwnDevice } from "../device/device.ts"
import type { Engine } from "../mls.ts"
import { rethrowAs } from "../rethrow.ts"
import { unboundPending } from "../state/pending-rows.ts"
import { openSnapshot } from "../state/snapshot.ts"
import { localGroupOf, nothingStored, type StoredConversation } from "../state/stored-conversation.ts"
import { membersPlace, named, tampered } from "./conversation-rows.ts"
import { snapshotPlaceOf } from "./store-tx.ts"

export type LoadNeeds = Storage & Pick<Trust, "owner"> & { readonly engine: Engine; readonly device: OwnDevice }

/** The rows of a conversation at one generation, opened. */
export interface Loaded {
  readonly generation: bigint
  readonly stored: StoredConversation
}

/** The sealed rows of a summary, all of one generation. */
interface SummaryRows {
  readonly generation: bigint
  readonly record: Uint8Array | undefined
  /** Undefined also if only the record was read. */
  readonly members: Uint8Array | undefined
}

/** Reads and opens everything. @throws MessagingError STATE_TAMPERED, STATE_NEWER_VERSION; SecretBoxError */
export async function load(deps: LoadNeeds, conversationId: string): Promise<Loaded> {
  const { store, rows, engine } = deps
  const space = conversationId
  const { generation, values } = await store.read(space, [named.record, named.state, named.tree, named.staged])
  const [recordRow, stateRow, treeRow, stagedRow] = values
  if (recordRow === undefined) {
    if (stateRow !== undefined) throw tampered("the state has no record")
    return { generation, stored: nothingStored }
  }
  const found = await rows.read({ space, ...named.record }, ConversationRecordSchema, recordRow)
  const opened = stateRow && (await openSnapshot(rows, snapshotPlaceOf(deps, conversationId), generation, stateRow))
  const record = await boundRecord(deps, space, found, generation, opened?.bindsRecord === true)
  const staged = stagedRow && (await rows.read({ space, ...named.staged }, StagedCommitSchema, stagedRow))
  if (opened === undefined) return { generation, stored: { record, local: undefined, staged } }
  const { snapshot } = opened
  const tree = treeRow && (await rows.readBytes({ space, ...named.tree }, treeRow))
  const isWhole = tree !== undefined && equalBytes(hash("tree-blob", tree), snapshot.treeHash)
  const isStaged = equalBytes(staged?.commitHash ?? new Uint8Array(), snapshot.stagedCommit)
  if (!isWhole || !isStaged) throw tampered("the rows are of different generations")
  const local = await rethrowAs("STATE_TAMPERED", () => localGroupOf(engine, snapshot, tree))
  return { generation, stored: { record, local, staged } }
}

/** Returns a record of this generation, or one that an earlier version wrote before records named their generation. */
async function boundRecord(
  { store, device }: Pick<LoadNeeds, "store" | "device">,
  space: string,
  found: ConversationRecord,
  generation: bigint,
  isBound: boolean,
): Promise<ConversationRecord> {
  if (found.generation === generation) return found
  const isOld = found.generation === 0n && !isBound && !device.marks.bindsRecords
  if (!isOld) throw tampered("the record is of another generation than its store")
  return create(ConversationRecordSchema, { ...found, due: await unboundPending({ store }, space) })
}

export async function readSummary(
  { store }: Pick<Storage, "store">,
  conversationId: string,
  rows: readonly ("record" | "members")[],
): Promise<SummaryRows> {
  const { generation, values } = await store.read(
    conversationId,
    rows.map((row) => named[row]),
  )
  const at = (row: (typeof rows)[number]) => (rows.includes(row) ? values[rows.indexOf(row)] : undefined)
  return { generation, record: at("record"), members: at("members") }
}

/** Opens a record without its state. @returns Undefined for a record of an earlier version. */
export async function openRecord(
  { rows }: Pick<Storage, "rows">,
  space: string,
  generation: bigint,
  row: Uint8Array,
): Promise<ConversationRecord | undefined> {
  const record = await rows.read({ space, ...named.record }, ConversationRecordSchema, row)
  if (record.generation === 0n) return undefined
  if (record.generation !== generation) throw tampered("the record is of another generation than its store")
  return record
}

/** @param generation The generation of the list, which the record names. @returns `prn_…`, each once. */
export async function openMembers(
  { rows }: Pick<Storage, "rows">,
  space: string,
  generation: bigint,
  row: Uint8Array | undefined,
): Promise<readonly string[]> {
  if (row === undefined) throw tampered("the list of members is missing")
  return (await rows.read(membersPlace(space, generation), MemberListSchema, row)).userIds
}
