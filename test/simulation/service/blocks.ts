import { decideBlock, emptyBlockList } from "@signet/kernel/messaging/block"
import type { Blocks } from "@signet/kernel/messaging/ports"
import type { BlockList } from "@signet/kernel/messaging/records"

/** The lists of blocked users, in memory. The simulation has one place. */
export function modelBlocks(): Blocks {
  const lists = new Map<string, BlockList>()
  return {
    ofUser: async (userId) => lists.get(userId) ?? emptyBlockList,
    async change({ userId, change }) {
      const before = lists.get(userId) ?? emptyBlockList
      const decision = decideBlock(before, change)
      if (decision.is === "full") return decision
      if (decision.is === "there") return { is: "there", list: before }
      lists.set(userId, decision.list)
      return { is: "done", list: decision.list }
    },
    blockersOf: async (userId, among) =>
      [...new Set(among)].filter((other) => lists.get(other)?.userIds.includes(userId) === true),
  }
}
