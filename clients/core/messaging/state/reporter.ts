// What is told of a conversation as it happens: each entry once, in order, whichever tab took it in.

import { statusOf } from "../conversation/status.ts"
import type { Reports, Storage } from "../deps.ts"
import type { ConversationStatus } from "../events.ts"
import type { Op } from "../store/store.ts"
import type { StoredConversation } from "./stored-conversation.ts"
import { seqOfKey, timelineAfter } from "./timeline.ts"

interface Told {
  /** The last place; undefined where this device was not in when it was first looked at. */
  readonly seq: bigint | undefined
  readonly status: ConversationStatus | undefined
}

export interface Reporter {
  /** Whether it is known what was here before: that is for the app to read, and what comes then is told. */
  readonly isBegun: boolean
  /**
   * What others wrote since, or this tab without learning that it had.
   *
   * @param seq The last place; undefined where this device is not in: then everything that is stored was taken in.
   */
  others(record: StoredConversation["record"], seq: bigint | undefined): Promise<void>
  /** What this tab has written, whose entries it tells by itself. */
  own(before: StoredConversation, after: StoredConversation, ops: readonly Op[]): void
  status(record: StoredConversation["record"]): void
}

type Needs = Storage & Reports

export function createReporter({ store, rows, emit }: Needs, conversationId: string): Reporter {
  let told: Told | undefined

  function tellStatus(record: StoredConversation["record"]): void {
    const status = statusOf(record)
    if (status !== undefined) emit({ is: "status", conversationId, status, reason: record?.quarantine?.reason })
  }

  async function tellAfter(from: bigint, to: bigint | undefined): Promise<void> {
    try {
      for await (const entry of timelineAfter(store, rows, conversationId, from)) {
        if (to !== undefined && entry.seq > to) return
        if (told !== undefined) told = { ...told, seq: laterOf(told.seq, entry.seq) }
        emit({ is: "entry", conversationId, entry })
      }
    } catch (error) {
      emit({ is: "failed", conversationId, error })
    }
  }

  return {
    get isBegun() {
      return told !== undefined
    },
    async others(record, last) {
      const before = told
      const status = statusOf(record)
      const seq = record === undefined ? 0n : last
      told = { seq: laterOf(before?.seq, seq), status }
      if (before === undefined) return
      if (before.seq === undefined) {
        if (seq !== undefined) emit({ is: "lagged" })
      } else if (seq === undefined || seq > before.seq) await tellAfter(before.seq, seq)
      if (status !== before.status) tellStatus(record)
    },
    own(before, after, ops) {
      const status = statusOf(after.record)
      told = { seq: laterOf(told?.seq, after.local?.processedSeq ?? lastPlaceIn(ops)), status }
      if (status !== statusOf(before.record)) tellStatus(after.record)
    },
    status: tellStatus,
  }
}

const laterOf = (one: bigint | undefined, other: bigint | undefined): bigint | undefined =>
  one === undefined || (other !== undefined && other > one) ? other : one

/** Where this device went, the last place that it took in. */
function lastPlaceIn(ops: readonly Op[]): bigint | undefined {
  const last = ops.findLast(({ table }) => table === "timeline")
  return last && seqOfKey(last.key)
}
