import { type Archive, decideArchive, isArchiveGone } from "@signet/kernel/messaging/archive"
import type { Archives } from "@signet/kernel/messaging/ports"

/** The archives of users, in memory. The simulation has one place. */
export function modelArchives(): Archives {
  const lists = new Map<string, readonly Archive[]>()
  return {
    ofUser: async (userId) => lists.get(userId) ?? [],
    async change({ userId, change }, nowMs) {
      const decision = decideArchive(lists.get(userId) ?? [], change, nowMs)
      if (decision.is === "change") lists.set(userId, decision.archives)
      return decision
    },
    due: async () => [],
    async forget({ userId }, id, nowMs) {
      const before = lists.get(userId) ?? []
      lists.set(
        userId,
        before.filter((one) => one.id !== id || !isArchiveGone(one, nowMs)),
      )
    },
  }
}
