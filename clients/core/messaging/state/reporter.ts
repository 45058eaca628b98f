// Emits the events of a conversation: each entry once, in order, also if another tab processed it.

import { statusOf } from "../conversation/status.ts"
import type { Reports, Storage } from "../deps.ts"
import type { ConversationStatus } from "../events.ts"
import type { Op } from "../store/store.ts"
import type { StoredConversation } from "./stored-conversation.ts"
import { seqOfKey, timelineAfter } from "./timeline.ts"

interface Reported {
  /** The last reported sequence number; undefined if this device was no member when the conversation was first read. */
  readonly seq: bigint | undefined
  readonly status: ConversationStatus | undefined
}

export interface Reporter {
  /** True once the stored state was read. The app reads earlier entries itself; later ones are reported. */
  readonly isBegun: boolean
  /**
   * Reports what other tabs wrote, or what this tab wrote in a call whose result it did not learn.
   *
   * @param seq The last processed sequence number; undefined if this device is no member: then all stored entries count.
   */
  others(record: StoredConversation["record"], seq: bigint | undefined): Promise<void>
  /** Records what this tab has written. The writing code emits those entries itself. */
  own(before: StoredConversation, after: StoredConversation, ops: readonly Op[]): void
  status(record: StoredConversation["record"]): void
}

type Needs = Storage & Reports

export function createReporter({ store, rows, emit }: Needs, conversationId: string): Reporter {
  let reported: Reported | undefined

  function emitStatus(record: StoredConversation["record"]): void {
    const status = statusOf(record)
    if (status !== undefined) emit({ is: "status", conversationId, status, reason: record?.quarantine?.reason })
  }

  async function emitAfter(from: bigint, to: bigint | undefined): Promise<void> {
    try {
      for await (const entry of timelineAfter(store, rows, conversationId, from)) {
        if (to !== undefined && entry.seq > to) return
        if (reported !== undefined) reported = { ...reported, seq: laterOf(reported.seq, entry.seq) }
        emit({ is: "entry", conversationId, entry })
      }
    } catch (error) {
      emit({ is: "failed", conversationId, error })
    }
  }

  return {
    get isBegun() {
      return reported !== undefined
    },
    async others(record, last) {
      const before = reported
      const status = statusOf(record)
      const seq = record === undefined ? 0n : last
      reported = { seq: laterOf(before?.seq, seq), status }
      if (before === undefined) return
      if (before.seq === undefined) {
        if (seq !== undefined) emit({ is: "lagged" })
      } else if (seq === undefined || seq > before.seq) await emitAfter(before.seq, seq)
      if (status !== before.status) emitStatus(record)
    },
    own(before, after, ops) {
      const status = statusOf(after.record)
      reported = { seq: laterOf(reported?.seq, after.local?.processedSeq ?? lastSeqIn(ops)), status }
      if (status !== statusOf(before.record)) emitStatus(after.record)
    },
    status: emitStatus,
  }
}

const laterOf = (one: bigint | undefined, other: bigint | undefined): bigint | undefined =>
  one === undefined || (other !== undefined && other > one) ? other : one

/** The sequence number of the last timeline row that is written. */
function lastSeqIn(ops: readonly Op[]): bigint | undefined {
  const last = ops.findLast(({ table }) => table === "timeline")
  return last && seqOfKey(last.key)
}
