import { setTimeout } from "node:timers/promises"
import { systemClock } from "./messengers.ts"
import type { MessagingServer } from "./test-server.ts"

/** The system's time and what tests have added to it, for messengers and their server. */
interface MovedClock {
  readonly clock: typeof systemClock
  /**
   * Moves the time of both, by default by longer than a member counts as a helper, and renews keys that are due.
   * With the Worker, it waits.
   */
  pass(ms?: number): Promise<void>
}

type Moved = Pick<MessagingServer, "advance" | "keys" | "messaging">

/** @param server Called at each `pass`: a test starts it later. Undefined for the Worker: no test moves its time. */
export function movedClock(server: () => Moved | undefined): MovedClock {
  let movedMs = 0
  return {
    clock: { ...systemClock, nowMs: () => systemClock.nowMs() + movedMs },
    async pass(ms = 61_000) {
      const moved = server()
      if (moved === undefined) return setTimeout(ms)
      movedMs += ms
      const { advance, messaging, keys } = moved
      advance(ms)
      await messaging.issuerKeys.tick()
      await keys.tick()
    },
  }
}
