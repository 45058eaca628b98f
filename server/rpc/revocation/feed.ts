// The end of the revocation log in this process: one reader of the database serves all readers of the process.

import type { Clock } from "@signet/kernel/ports"
import type { LoggedRevocation } from "@signet/kernel/revocation/entry"
import type { LogPart, RevocationLog } from "@signet/kernel/revocation/ports"
import { maxEntries, type RevocationStatement } from "@signet/kernel/revocation/statement"

interface FeedOptions {
  readonly log: RevocationLog
  readonly clock: Clock
  readonly issuer: string
  /** Notifies other processes that the log has grown. */
  readonly announce: () => void
}

export interface RevocationFeed {
  /**
   * The statement of the entries after a sequence number.
   *
   * @throws Refused UNAVAILABLE when the log cannot be read.
   */
  after(seq: number): Promise<RevocationStatement>
  /** Resolves when the log has an entry after `seq`, or when the signal is aborted. */
  grown(seq: number, signal: AbortSignal): Promise<void>
  /** Assigns sequence numbers to new entries, then reads them. Concurrent calls share one run. */
  look(): Promise<void>
  /** For how long the end of the log has been unknown, in milliseconds; undefined before the first read. */
  lagMs(): number | undefined
  /** Resolves when no run is under way. */
  settled(): Promise<void>
}

interface End {
  readonly log: string
  readonly head: number
  /** Every entry that was committed until then has its sequence number. */
  readonly asOfMs: number
}

/** Entries kept in memory, for readers that are not far behind. */
const maxRecent = 5 * maxEntries
/** The maximum age of the end of the log in a statement, in milliseconds. */
const freshMs = 1_000

export function createRevocationFeed({ log, clock, issuer, announce }: FeedOptions): RevocationFeed {
  const waiting = new Set<{ readonly seq: number; readonly resolve: () => void }>()
  let end: End | undefined
  /** The unexpired entries after `recentFrom`, in order. */
  let recent: LoggedRevocation[] = []
  let recentFrom = 0
  let underWay: Promise<void> | undefined
  let next: Promise<void> | undefined

  async function round(): Promise<void> {
    const seq = end?.head ?? Number.MAX_SAFE_INTEGER
    let asOfMs = clock.nowMs()
    let part = await log.read({ after: seq, limit: maxEntries, nowMs: asOfMs })
    if (part.isPending) {
      let count = 0
      for (let numbered = await log.sequence(); numbered > 0; numbered = await log.sequence()) count += numbered
      if (count > 0) announce()
      asOfMs = clock.nowMs()
      part = await log.read({ after: seq, limit: maxEntries, nowMs: asOfMs })
    }
    take(part)
    for (let to = part.to; to < part.head; to = part.to) {
      part = await log.read({ after: to, limit: maxEntries, nowMs: asOfMs })
      take(part)
    }
    // An entry is being written: until it has its sequence number, the known time does not advance.
    end = { log: part.log, head: part.head, asOfMs: part.isPending ? (end?.asOfMs ?? 0) : asOfMs }
    for (const reader of waiting) if (reader.seq !== part.head) reader.resolve()
  }

  function take({ log: name, head, entries }: LogPart): void {
    const isOther = end !== undefined && (end.log !== name || head < end.head)
    if (end === undefined || isOther) {
      recent = []
      recentFrom = head
      if (isOther) end = undefined
      return
    }
    recent.push(...entries)
    const surplus = recent.splice(0, Math.max(0, recent.length - maxRecent))
    recentFrom = surplus.at(-1)?.seq ?? recentFrom
  }

  async function look(): Promise<void> {
    if (underWay !== undefined) {
      // The current run may have read before the caller's change. One more run serves all later callers.
      next ??= underWay
        .catch(() => undefined)
        .then(() => {
          next = undefined
          return look()
        })
      return next
    }
    underWay = round().finally(() => {
      underWay = undefined
    })
    return underWay
  }

  async function fresh(): Promise<End> {
    // Wait for the current run: it reads entries that were committed before this call.
    await (next ?? underWay)?.catch(() => undefined)
    const known = end
    if (known !== undefined && clock.nowMs() - known.asOfMs < freshMs) return known
    await look()
    if (end === undefined) throw new Error("the log was not read")
    return end
  }

  return {
    look,

    lagMs: () => end && Math.max(0, clock.nowMs() - end.asOfMs),

    async settled() {
      await Promise.allSettled([underWay, next])
    },

    async after(seq) {
      let known = await fresh()
      // Another process may have announced more than this one has read.
      if (seq > known.head) {
        await look()
        known = await fresh()
      }
      const { log: name, head, asOfMs } = known
      const statement = { issuer, log: name, head, asOfMs }
      if (seq >= head) return { ...statement, from: head, to: head, entries: [] }
      if (seq >= recentFrom) {
        const first = firstAfter(recent, seq)
        const entries = recent.slice(first, first + maxEntries)
        const isAll = first + entries.length === recent.length
        return { ...statement, from: seq, to: isAll ? head : (entries.at(-1)?.seq ?? head), entries }
      }
      const nowMs = clock.nowMs()
      const part = await log.read({ after: seq, limit: maxEntries, nowMs })
      // As of now, unless an entry has no sequence number yet.
      return { ...part, issuer, from: Math.min(seq, part.to), asOfMs: part.isPending ? asOfMs : nowMs }
    },

    async grown(seq, signal) {
      if (signal.aborted || (end !== undefined && end.head !== seq)) return
      const { promise, resolve } = Promise.withResolvers<void>()
      const reader = { seq, resolve }
      waiting.add(reader)
      const onAbort = () => resolve()
      signal.addEventListener("abort", onAbort)
      await promise
      waiting.delete(reader)
      signal.removeEventListener("abort", onAbort)
    },
  }
}

/** The index of the first entry after the sequence number. Binary search: the entries are in order. */
function firstAfter(entries: readonly LoggedRevocation[], seq: number): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((entries[middle]?.seq ?? 0) > seq) high = middle
    else low = middle + 1
  }
  return low
}
