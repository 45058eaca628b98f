import { systemClock } from "./messengers.ts"
import type { MessagingServer } from "./test-server.ts"

/** The system's time and what tests have added to it, for messengers and their server. */
interface MovedClock {
  readonly clock: typeof systemClock
  /** Moves the time of both, by default by longer than a member counts as online, and renews keys that are due. */
  pass(ms?: number): Promise<void>
}

type Moved = Pick<MessagingServer, "advance" | "keys" | "messaging">

/** @param server Called at each `pass`: a test starts it later. */
export function movedClock(server: () => Moved): MovedClock {
  let movedMs = 0
  return {
    clock: { ...systemClock, nowMs: () => systemClock.nowMs() + movedMs },
    async pass(ms = 61_000) {
      movedMs += ms
      const { advance, messaging, keys } = server()
      advance(ms)
      await messaging.issuerKeys.tick()
      await keys.tick()
    },
  }
}
