import { create, type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf"
import {
  type ConversationRecord,
  type ConversationRecord_Due,
  type ConversationRecord_Outline,
  ConversationRecord_OutlineSchema,
  ConversationRecordSchema,
  MemberListSchema,
  StagedCommitSchema,
} from "@signet/proto/client/v1/records"
import { rosterOf, usersIn } from "../checks/roster.ts"
import { encodeEpoch } from "../mls.ts"
import { changePending, type PendingChange } from "../state/pending-rows.ts"
import { type LocalGroup, type StoredConversation, snapshotOf } from "../state/stored-conversation.ts"
import type { Place } from "../store/sealed-rows.ts"
import { membersPlace, named, type RowWrite } from "./conversation-rows.ts"

/** Where and when a transaction writes. */
interface WritePlace {
  /** `cnv_…` */
  readonly conversationId: string
  /** The generation after the transaction. */
  readonly generation: bigint
  /** `prn_…` of this device's user. */
  readonly ownUserId: string
}

/** The rows of one transaction, and the state that they encode. */
interface PlannedWrites {
  readonly next: StoredConversation
  readonly writes: readonly RowWrite[]
}

/**
 * Plans the rows of a transaction. Record and snapshot are always written: both name the generation, so that a restored
 * old row is detected.
 *
 * @param before The stored state.
 * @param due Changes of pending messages and intents.
 */
export function planWrites(
  before: StoredConversation,
  after: StoredConversation,
  due: readonly PendingChange[],
  place: WritePlace,
): PlannedWrites {
  const { conversationId: space, generation } = place
  const waiting = changePending({ space, generation }, before.record?.due ?? [], due)
  const record = after.record && boundRecord(after.record, waiting.due, outlineOf(before, after, place), generation)
  const next = { ...after, record }
  return {
    next,
    writes: [...recordWrites(before, next, space), ...groupWrites(before, next, place), ...waiting.writes],
  }
}

function boundRecord(
  { outline: _, ...record }: ConversationRecord,
  due: ConversationRecord_Due[],
  outline: ConversationRecord_Outline | undefined,
  generation: bigint,
): ConversationRecord {
  return create(ConversationRecordSchema, { ...record, generation, due, ...(outline && { outline }) })
}

function recordWrites(before: StoredConversation, { record, staged }: StoredConversation, space: string): RowWrite[] {
  const writes: RowWrite[] = []
  if (record !== undefined) writes.push(put({ space, ...named.record }, ConversationRecordSchema, record))
  if (staged === before.staged) return writes
  const write = staged === undefined ? remove("staged") : put({ space, ...named.staged }, StagedCommitSchema, staged)
  return [...writes, write]
}

function groupWrites(
  before: StoredConversation,
  { record, local, staged }: StoredConversation,
  { conversationId, generation }: WritePlace,
): RowWrite[] {
  if (local === undefined) return before.local === undefined ? [] : [remove("state"), remove("tree"), remove("members")]
  const writes: RowWrite[] = []
  if (record?.outline?.membersGeneration === generation) {
    const list = create(MemberListSchema, { userIds: usersIn(local.group) })
    writes.push(put(membersPlace(conversationId, generation), MemberListSchema, list))
  }
  if (local.treeHash !== before.local?.treeHash) {
    writes.push({ is: "put", place: { space: conversationId, ...named.tree }, bytes: encodeEpoch(local.group) })
  }
  return [...writes, { is: "snapshot", snapshot: snapshotOf(conversationId, generation, local, staged) }]
}

/** A summary of the state in its record, so that sync can skip an unchanged conversation without opening its state. */
function outlineOf(
  before: StoredConversation,
  { local, staged }: StoredConversation,
  { generation, ownUserId }: WritePlace,
): ConversationRecord_Outline | undefined {
  if (local === undefined) return undefined
  const { processedSeq, group, leafRenewedAt, treeHash, receipt } = local
  // Members change only with the epoch.
  const known = before.local?.treeHash === treeHash ? before.record?.outline : undefined
  return create(ConversationRecord_OutlineSchema, {
    processedSeq,
    epoch: group.epoch,
    leafRenewedAt: BigInt(leafRenewedAt),
    isStaged: staged !== undefined,
    ownDeviceIds: known?.ownDeviceIds ?? deviceIdsOf(local, ownUserId),
    membersGeneration: known?.membersGeneration || generation,
    ...(receipt === "first" ? {} : { receiptHead: receipt.hash }),
  })
}

const deviceIdsOf = ({ group }: LocalGroup, ofUserId: string): string[] =>
  [...rosterOf(group).values()].filter(({ userId }) => userId === ofUserId).map(({ deviceId }) => deviceId)

const remove = (row: keyof typeof named): RowWrite => ({ is: "remove", row: named[row] })

function put<Desc extends DescMessage>(place: Place, schema: Desc, record: MessageShape<Desc>): RowWrite {
  return { is: "put", place, bytes: toBinary(schema, record) }
}
