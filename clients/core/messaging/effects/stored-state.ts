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

/** The most consecutive lost races between processes. More indicate a faulty store. */
export const maxRaces = 100

/** This process's cache of one conversation's stored state. */
export interface StoredState {
  /** Returns the state of the last read or write. The store may have a newer one. */
  current(): Promise<Loaded>
  /** Reads the store's current state. */
  refreshed(): Promise<Loaded>
  /**
   * True if another process has written since that generation. A failure on the older state is then no verdict.
   *
   * @throws the store's error: it is not known whether the failure is a verdict.
   */
  hasMoved(generation: bigint): Promise<boolean>
  /** Reads the record alone. @returns Undefined for a record of an earlier version, without an outline. */
  record(): Promise<ConversationRecord | undefined>
  summary(): Promise<ConversationSummary>
  pending<Desc extends DescMessage>(table: PendingTable, schema: Desc): Promise<PendingRow<MessageShape<Desc>>[]>
  /** Replaces the cache with the result of a transaction. */
  replace(loaded: Loaded): void
  /** Clears the cache. */
  drop(): void
  /** Wipes the secrets in memory, not in the store. */
  wipe(): void
}

export function createStoredState(deps: LoadNeeds, conversationId: string, reporter: Reporter): StoredState {
  const { store, rows } = deps
  const space = conversationId
  let cached: Loaded | undefined
  /** The record that was last read without its state. */
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
    hasMoved: async (generation) => (await generationNow()) !== generation,
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
      throw tampered("other processes changed the store during every attempt to read")
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
