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

/** The outcome of a piece of work on a conversation: what one transaction writes, and what follows it. */
export interface Change<Result> {
  /** The next state; absent when it stays. */
  readonly next?: StoredConversation
  /** Further writes of the same transaction. */
  readonly ops?: readonly Op[]
  /** Rows of the outbox and of intents that are added, replaced or removed. */
  readonly due?: readonly PendingChange[]
  /** Wipe consumed secrets: after the transaction, and only then. */
  readonly wipe?: readonly (() => void)[]
  /** Emitted in this order, after the wiping. */
  readonly emit?: readonly MessengerEvent[]
  readonly result: Result
}

/**
 * The one way to a conversation's state. Work on one conversation runs in turn, and each change is one transaction. The
 * state in memory is what was stored: after any failure it is read again.
 */
export interface ConversationState {
  stored(): Promise<StoredConversation>
  /** The record alone, without opening the state. Undefined for a record that an earlier version wrote. */
  record(): Promise<ConversationRecord | undefined>
  /**
   * @param work runs again, on the newer state, when another process has written meanwhile. It must not wait for this
   *   conversation, and everything that it does besides its result must be repeatable.
   */
  change<Result>(work: (stored: StoredConversation) => Promise<Change<Result>>): Promise<Result>
  /** What a list shows: without opening the state, where the record was written with it. */
  summary(): Promise<ConversationSummary>
  /** The rows that wait to be done, as they are stored now. Inside a change use `readPending`. */
  pending<Desc extends DescMessage>(table: PendingTable, schema: Desc): Promise<PendingRow<MessageShape<Desc>>[]>
  /** Wipes what is in memory. What is stored stays. */
  wipe(): Promise<void>
  /** Emits what another process has written, as this one would have emitted it. */
  reportWritten(): Promise<void>
}

export function openConversationState(deps: LoadNeeds & Reports, conversationId: string): ConversationState {
  const reporter = createReporter(deps, conversationId)
  const state = createStoredState(deps, conversationId, reporter)
  let last: Promise<unknown> = Promise.resolve()

  /** In turn: also after a failure. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work, work)
    last = turn.catch(() => undefined)
    return turn
  }

  async function reportWritten(): Promise<void> {
    const isFirst = !reporter.isBegun
    const { record } = (await state.refreshed()).stored
    if (!isFirst) return
    // The app reads everything that was stored before this process looked.
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

/** Runs work until its transaction is written over the state that it started from. */
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
    // Until the outcome of the transaction is known, the state in memory is void.
    state.drop()
    if ((await transact(deps.store, conversationId, generation, [...own, ...ops])) === "lost") continue
    state.replace({ generation: written, stored: next })
    for (const each of wipe) each()
    for (const event of emit) deps.emit(event)
    reporter.own(stored, next, ops)
    return result
  }
  throw tampered("other processes wrote between each two tries")
}
