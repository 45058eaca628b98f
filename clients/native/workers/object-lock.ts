import type { Lock } from "@signet/client"

/** A mutual exclusion inside one Durable Object, of which the platform runs one instance at a time. */
export function createObjectLock(): Lock {
  let last: Promise<unknown> = Promise.resolve()
  return {
    run(work) {
      const next = last.then(work, work)
      last = next.catch(() => undefined)
      return next
    },
  }
}
