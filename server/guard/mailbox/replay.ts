// Stores which envelopes were handled, to refuse replays.
import type { Clock } from "@signet/kernel/ports"

/**
 * Remembers envelopes until they would be refused as expired. An envelope is claimed before its handler runs and
 * finished afterwards. If a claim is not finished when its lease expires, the next delivery may claim it.
 */
export interface ReplayStore {
  /** True if the envelope was finished. */
  isDone(key: string): Promise<boolean>
  /**
   * "claimed": this holder may handle it until the lease expires. "busy": another holder has the claim. "done": it was
   * finished.
   */
  claim(key: string, of: Claim): Promise<"claimed" | "busy" | "done">
  finish(key: string): Promise<void>
  /** Releases this holder's claim after its handler failed, so that a retry can claim it at once. */
  release(key: string, holder: string): Promise<void>
}

export interface Claim {
  /** Unique per delivery. */
  readonly holder: string
  readonly leaseEndsAtMs: number
  /** The entry can be deleted after this time. */
  readonly forgetAtMs: number
}

interface Entry extends Claim {
  readonly isDone: boolean
}

/**
 * A store in memory, for a single process whose handlers may run again after a restart.
 *
 * @param options.maxEntries At capacity, new envelopes are refused; none is forgotten early. 100,000.
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
