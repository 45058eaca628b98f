import type { DescMessage, MessageShape } from "@bufbuild/protobuf"
import type { ConversationRecord } from "@signet/proto/client/v1/records"
import { wipeState } from "../mls.ts"
import { type PendingRow, type PendingTable, readPending } from "../state/pending-rows.ts"
import type { Reporter } from "../state/reporter.ts"
import {
  type ConversationSummary,
  nothingStored,
  type StoredConversation,
  summaryOf,
} from "../state/stored-conversation.ts"
import { tampered } from "./conversation-rows.ts"
import { type Loaded, type LoadNeeds, load, openMembers, openRecord, readSummary } from "./load.ts"

/** Processes that write at the same moment: more lost races in a row than this are no accident. */
export const maxRaces = 100

/** What this process has read of one conversation, as far as it is what the store has. */
export interface StoredState {
  /** The state of the last read or write. The store may have a newer one. */
  current(): Promise<Loaded>
  /** The state that the store has now. */
  refreshed(): Promise<Loaded>
  /** True if another process has written since that generation: a failure on the older state is no verdict. */
  hasMoved(generation: bigint): Promise<boolean>
  /** The record alone. @returns undefined for a record without an outline, which an earlier version wrote. */
  record(): Promise<ConversationRecord | undefined>
  summary(): Promise<ConversationSummary>
  pending<Desc extends DescMessage>(table: PendingTable, schema: Desc): Promise<PendingRow<MessageShape<Desc>>[]>
  /** Takes over what a transaction wrote. */
  replace(loaded: Loaded): void
  /** Forgets what was read: the next read opens the store's rows. */
  drop(): void
  /** Wipes the secrets in memory. What is stored stays. */
  wipe(): void
}

export function createStoredState(deps: LoadNeeds, conversationId: string, reporter: Reporter): StoredState {
  const { store, rows } = deps
  const space = conversationId
  let cached: Loaded | undefined
  /** The record that was read last without its state. */
  let recordOnly: ConversationRecord | undefined

  const generationNow = async (): Promise<bigint> => (await store.read(space, [])).generation

  async function openRecordAt(generation: bigint, row: Uint8Array | undefined) {
    if (cached?.generation === generation) return cached.stored.record
    if (recordOnly?.generation === generation) return recordOnly
    const record = row && (await openRecord({ rows }, space, generation, row))
    if (record === undefined) return undefined
    await reporter.others(record, record.outline?.processedSeq)
    recordOnly = record
    return record
  }

  const state: StoredState = {
    async current() {
      if (cached !== undefined) return cached
      const loaded = await load(deps, conversationId)
      cached = loaded
      await reporter.others(loaded.stored.record, loaded.stored.local?.processedSeq)
      return loaded
    },
    async refreshed() {
      const generation = await generationNow()
      if (cached?.generation !== generation) cached = undefined
      return state.current()
    },
    hasMoved: (generation) =>
      generationNow().then(
        (now) => now !== generation,
        () => false,
      ),
    async record() {
      const { generation, record } = await readSummary({ store }, space, ["record"])
      return openRecordAt(generation, record)
    },
    async summary() {
      const found = await readSummary({ store }, space, ["record", "members"])
      const record =
        cached?.generation === found.generation ? undefined : await openRecordAt(found.generation, found.record)
      const outline = record?.outline
      const isWritten = record !== undefined && (outline === undefined || outline.membersGeneration > 0n)
      if (!isWritten) return summaryOf((await state.refreshed()).stored)
      if (outline === undefined) return { record, memberUserIds: [], processedSeq: 0n }
      const memberUserIds = await openMembers({ rows }, space, outline.membersGeneration, found.members)
      return { record, memberUserIds, processedSeq: outline.processedSeq }
    },
    async pending(table, schema) {
      for (let race = 0; race < maxRaces; race++) {
        const { generation, stored } = await state.refreshed()
        try {
          return await readPending({ store, rows }, space, stored.record, table, schema)
        } catch (error) {
          if (!(await state.hasMoved(generation))) throw error
        }
      }
      throw tampered("other processes wrote between each two reads")
    },
    replace(loaded) {
      cached = loaded
    },
    drop() {
      cached = undefined
    },
    wipe() {
      const { local, staged }: StoredConversation = cached?.stored ?? nothingStored
      cached = undefined
      if (local !== undefined) wipeState(local.group)
      staged?.nextState.fill(0)
    },
  }
  return state
}
