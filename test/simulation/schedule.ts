import type { Clock } from "../../clients/core/ports.ts"

/** What is waited for has not happened, and nothing is left that could happen, or too much time has passed. */
class Stuck extends Error {
  override readonly name = "Stuck"
}

/** Time that passes only when nothing else can happen, in which one thing happens after the other. */
export interface Schedule extends Clock {
  wait(ms: number): Promise<void>
  /** Counts work that goes on outside of the schedule: time stands still until it is done. */
  outside<T>(work: () => Promise<T>): Promise<T>
  /** Time passes in which everybody sleeps: what was due in it comes late. */
  pass(ms: number): void
  /** Lets things happen until this has. @throws Stuck; and what it rejects with. */
  until<T>(happened: Promise<T>): Promise<T>
}

interface Due {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
}

/** Longer than any run lasts: what happens again and again is no end. */
const longestMs = 12 * 3_600_000

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

export function createSchedule(startMs: number): Schedule {
  const due = new Set<Due>()
  let nowMs = startMs
  let sleptMs = 0
  let order = 0
  let outside = 0
  const after: Schedule["after"] = (ms, run) => {
    const one = { atMs: nowMs + Math.max(0, Math.ceil(ms)), order: order++, run }
    due.add(one)
    return () => due.delete(one)
  }
  const isBefore = (a: Due, b: Due) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
  return {
    nowMs: () => nowMs,
    after,
    wait: (ms) => new Promise((resolve) => after(ms, resolve)),
    pass(ms) {
      nowMs += ms
      sleptMs += ms
    },
    async outside(work) {
      outside++
      try {
        return await work()
      } finally {
        outside--
      }
    },
    async until(happened) {
      let isOver = false
      const over = () => {
        isOver = true
      }
      happened.then(over, over)
      for (;;) {
        await settled()
        while (outside > 0) await settled()
        await settled()
        if (isOver) return happened
        let next: Due | undefined
        for (const one of due) if (next === undefined || isBefore(one, next)) next = one
        if (next === undefined) throw new Stuck("nothing is left that could happen")
        if (next.atMs > startMs + sleptMs + longestMs) throw new Stuck("it goes on for ever")
        due.delete(next)
        nowMs = Math.max(nowMs, next.atMs)
        next.run()
      }
    },
  }
}
