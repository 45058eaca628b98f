// What was handled, so that it is not handled again.
import type { Clock } from "@signet/kernel/ports"

/**
 * Remembers envelopes until they would be refused as expired. An envelope is claimed before its handler runs and finished
 * after; one that is claimed and not finished is given to the next delivery when its lease is over.
 */
export interface ReplayStore {
  /** Whether it was finished. */
  isDone(key: string): Promise<boolean>
  /** "claimed": this holder may handle it, for as long as the lease. "busy": another may. "done": it was finished. */
  claim(key: string, of: Claim): Promise<"claimed" | "busy" | "done">
  finish(key: string): Promise<void>
  /** Gives back what this holder claimed: the handler failed, and may be tried again at once. */
  release(key: string, holder: string): Promise<void>
}

export interface Claim {
  /** Unique for the delivery. */
  readonly holder: string
  readonly leaseEndsAtMs: number
  /** From then on it need not be remembered. */
  readonly forgetAtMs: number
}

interface Entry extends Claim {
  readonly isDone: boolean
}

/**
 * For one process whose handlers may run again after it has stopped: what it remembers ends with it.
 *
 * @param options.maxEntries Refuses what comes when it is full, rather than forget. 100,000.
 */
export function createMemoryReplay({
  clock,
  maxEntries = 100_000,
}: {
  clock: Clock
  maxEntries?: number
}): ReplayStore {
  const entries = new Map<string, Entry>()

  function makeRoom(nowMs: number): void {
    if (entries.size < maxEntries) return
    for (const [key, { forgetAtMs }] of entries) if (forgetAtMs <= nowMs) entries.delete(key)
    if (entries.size >= maxEntries) throw new Error("the replay memory is full: raise its limit or use a database")
  }

  return {
    isDone: async (key) => entries.get(key)?.isDone ?? false,
    async claim(key, of) {
      const nowMs = clock.nowMs()
      const known = entries.get(key)
      if (known?.isDone) return "done"
      if (known !== undefined && known.leaseEndsAtMs > nowMs) return "busy"
      if (known === undefined) makeRoom(nowMs)
      entries.set(key, { ...of, isDone: false })
      return "claimed"
    },
    async finish(key) {
      const known = entries.get(key)
      if (known !== undefined) entries.set(key, { ...known, isDone: true })
    },
    async release(key, holder) {
      const known = entries.get(key)
      if (known?.holder === holder && !known.isDone) entries.delete(key)
    },
  }
}
