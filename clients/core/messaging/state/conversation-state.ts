import type { DescMessage, MessageShape } from "@bufbuild/protobuf"
import type { ConversationRecord } from "@signet/proto/client/v1/records"
import type { Reports } from "../deps.ts"
import { tampered } from "../effects/conversation-rows.ts"
import type { LoadNeeds } from "../effects/load.ts"
import { planWrites } from "../effects/plan-writes.ts"
import { sealWrites, transact } from "../effects/store-tx.ts"
import { createStoredState, maxRaces, type StoredState } from "../effects/stored-state.ts"
import type { MessengerEvent } from "../events.ts"
import type { Op } from "../store/store.ts"
import type { PendingChange, PendingRow, PendingTable } from "./pending-rows.ts"
import { createReporter, type Reporter } from "./reporter.ts"
import type { ConversationSummary, StoredConversation } from "./stored-conversation.ts"

/** The writes of one transaction on a conversation, its effects afterwards, and a result. */
export interface Change<Result> {
  /** The next state; absent if it is unchanged. */
  readonly next?: StoredConversation
  /** Further writes of the same transaction. */
  readonly ops?: readonly Op[]
  /** Outbox and intent rows to add, replace or remove. */
  readonly due?: readonly PendingChange[]
  /** Wipe consumed secrets, only after the transaction has succeeded. */
  readonly wipe?: readonly (() => void)[]
  /** Emitted in this order, after `wipe`. */
  readonly emit?: readonly MessengerEvent[]
  readonly result: Result
}

/**
 * The state of a conversation. Work on it runs sequentially, and each change is one transaction. The state in memory
 * equals the stored one: it is read again after a failure.
 */
export interface ConversationState {
  stored(): Promise<StoredConversation>
  /** Reads the record alone, without opening the state. Undefined for a record of an earlier version. */
  record(): Promise<ConversationRecord | undefined>
  /**
   * @param work Runs again, on the newer state, if another process has written since. It must not wait for this
   *   conversation, and its side effects must be repeatable.
   */
  change<Result>(work: (stored: StoredConversation) => Promise<Change<Result>>): Promise<Result>
  /** Reads what a list shows, without opening the state unless an earlier version wrote the record. */
  summary(): Promise<ConversationSummary>
  /** Reads the stored pending rows. Inside a change use `readPending`. */
  pending<Desc extends DescMessage>(table: PendingTable, schema: Desc): Promise<PendingRow<MessageShape<Desc>>[]>
  /** Wipes the state in memory, not in the store. */
  wipe(): Promise<void>
  /** Emits the events of another process's writes. */
  reportWritten(): Promise<void>
}

export function openConversationState(deps: LoadNeeds & Reports, conversationId: string): ConversationState {
  const reporter = createReporter(deps, conversationId)
  const state = createStoredState(deps, conversationId, reporter)
  let last: Promise<unknown> = Promise.resolve()

  /** Runs work after the previous work, even if that failed. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work, work)
    last = turn.catch(() => undefined)
    return turn
  }

  async function reportWritten(): Promise<void> {
    const isFirst = !reporter.isBegun
    const { record } = (await state.refreshed()).stored
    if (!isFirst) return
    // Events before the first read are not reported: the app reads those entries itself.
    reporter.status(record)
    deps.emit({ is: "lagged" })
  }

  return {
    stored: () => inTurn(async () => (await state.refreshed()).stored),
    record: () => inTurn(state.record),
    summary: () => inTurn(state.summary),
    wipe: () => inTurn(async () => state.wipe()),
    pending: (table, schema) => inTurn(() => state.pending(table, schema)),
    change: (work) => inTurn(() => change(deps, conversationId, state, reporter, work)),
    reportWritten: () => inTurn(reportWritten),
  }
}

/** Repeats work until its transaction is written on the state that it started from. */
async function change<Result>(
  deps: LoadNeeds & Reports,
  conversationId: string,
  state: StoredState,
  reporter: Reporter,
  work: (stored: StoredConversation) => Promise<Change<Result>>,
): Promise<Result> {
  for (let race = 0; race < maxRaces; race++) {
    const { generation, stored } = await state.current()
    let made: Change<Result>
    try {
      made = await work(stored)
    } catch (error) {
      if (!(await state.hasMoved(generation))) throw error
      state.drop()
      continue
    }
    const { next: after = stored, ops = [], due = [], wipe = [], emit = [], result } = made
    if (after === stored && ops.length === 0 && due.length === 0) return result
    const written = generation + 1n
    const place = { conversationId, generation: written, ownUserId: deps.owner.userId }
    const { next, writes } = planWrites(stored, after, due, place)
    const own = await sealWrites(deps, conversationId, writes)
    // Until the outcome of the transaction is known, the state in memory is invalid.
    state.drop()
    if ((await transact(deps.store, conversationId, generation, [...own, ...ops])) === "lost") continue
    state.replace({ generation: written, stored: next })
    for (const each of wipe) each()
    for (const event of emit) deps.emit(event)
    reporter.own(stored, next, ops)
    return result
  }
  throw tampered("other processes changed the store during every attempt to write")
}
