// A lock among the tabs and workers of an origin (Web Locks). A closed tab releases it.
import { type Lock, SignetError } from "@signet/client"

const waitMs = 30_000

export function createWebLock(name: string): Lock {
  return {
    async run<T>(work: () => Promise<T>): Promise<T> {
      let done: { value: T } | undefined
      let isOurs = false
      try {
        await navigator.locks.request(name, { signal: AbortSignal.timeout(waitMs) }, async () => {
          isOurs = true
          done = { value: await work() }
        })
      } catch (error) {
        if (isOurs) throw error
        throw new SignetError("LOCK_BUSY", "another tab holds the lock of this sign-in", { cause: error })
      }
      if (done === undefined) throw new SignetError("LOCK_BUSY", "the browser did not grant the lock")
      return done.value
    },
  }
}
