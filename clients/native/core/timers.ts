// Timers over one wake-up.
import type { Clock } from "@signet/client"

interface Timer {
  /** By the monotonic clock, in milliseconds. */
  readonly dueMs: number
  readonly run: () => void
}

interface WakeUp {
  nowMs(): number
  monotonicMs(): number
  /** Asks for a tick at this time, in place of an earlier request. @param atMs By the wall clock; 0 for never. */
  wakeAt(atMs: number): void
}

interface Timers {
  readonly clock: Clock
  /** Runs what is due. */
  tick(): void
}

export function createTimers({ nowMs, monotonicMs, wakeAt }: WakeUp): Timers {
  const timers = new Set<Timer>()
  /** When the host wakes the core, by the monotonic clock; undefined for never. */
  let wakesMs: number | undefined

  function wake(dueMs: number): void {
    if (dueMs === Number.POSITIVE_INFINITY) {
      wakesMs = undefined
      wakeAt(0)
      return
    }
    wakesMs = dueMs
    // Rounded up: a core that wakes early would ask again.
    wakeAt(Math.ceil(nowMs() + Math.max(0, dueMs - monotonicMs())) + 1)
  }

  return {
    clock: {
      nowMs,
      after(ms, run) {
        const timer: Timer = { dueMs: monotonicMs() + Math.max(0, ms), run }
        timers.add(timer)
        if (wakesMs === undefined || timer.dueMs < wakesMs) wake(timer.dueMs)
        // The host may wake the core for a canceled timer: asking it not to costs as much.
        return () => void timers.delete(timer)
      },
    },
    tick() {
      const now = monotonicMs()
      wakesMs = undefined
      const due = [...timers].filter(({ dueMs }) => dueMs <= now).sort((a, b) => a.dueMs - b.dueMs)
      for (const timer of due) {
        if (timers.delete(timer)) timer.run()
      }
      const next = Math.min(...[...timers].map(({ dueMs }) => dueMs))
      if (next !== wakesMs) wake(next)
    },
  }
}
