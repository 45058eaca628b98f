import { setTimeout as sleep } from "node:timers/promises"

const attempts = 20
const longestPauseMs = 250

/** Serialization failure and deadlock: PostgreSQL gave up one of two transactions, which may run again (SQLSTATE). */
const transient: ReadonlySet<unknown> = new Set(["40001", "40P01"])

/** Runs work again while it fails in a way that another run mends: 20 times at most, with growing random pauses. */
export async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === attempts || !isTransient(error)) throw error
      await sleep(Math.random() * Math.min(longestPauseMs, 5 * 2 ** attempt))
    }
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof Error && "code" in error && transient.has(error.code)
}
