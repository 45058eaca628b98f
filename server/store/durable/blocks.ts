import type { Blocks } from "@signet/kernel/messaging/ports"
import { ask } from "./asking.ts"
import type { DurableEnv } from "./env.ts"
import { inParallel } from "./in-parallel.ts"
import { userName } from "./names.ts"

/** Blocked users are stored in the object of the user who blocks them. */
export function durableBlocks(env: DurableEnv): Blocks {
  return {
    ofUser: (userId, place) => ask(() => env.USERS.getByName(userName(userId, place)).blocks()),

    change: ({ userId, place, change }, audit) =>
      ask(() => env.USERS.getByName(userName(userId, place)).changeBlocks(change, audit)),

    async blockersOf(userId, among, place) {
      const asked = await inParallel([...new Set(among)], async (blocker) => {
        const isBlocking = await ask(() => env.USERS.getByName(userName(blocker, place)).isBlocking(userId))
        return isBlocking ? [blocker] : []
      })
      return asked.flat()
    },
  }
}
