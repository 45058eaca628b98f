import type { ConversationId, DeviceId, WelcomeId } from "@signet/kernel/ids"
import { equalBytes } from "@signet/kernel/messaging/bytes"
import type { Welcomes } from "@signet/kernel/messaging/ports"
import type { WelcomeRecord } from "@signet/kernel/messaging/records"
import { decideConsume } from "@signet/kernel/messaging/welcome"
import { backUpOf } from "./back-up.ts"

export interface ModelWelcomes extends Welcomes {
  put(welcome: WelcomeRecord): void
  /** What leads to a leaf that is gone, leads nowhere. */
  voidOf(conversationId: ConversationId, deviceIds: readonly DeviceId[]): void
  backUp(): () => void
}

/** The store of welcomes, in memory. */
export function modelWelcomes(): ModelWelcomes {
  const welcomes = new Map<WelcomeId, WelcomeRecord>()
  const none = new Uint8Array()
  const pending = () => [...welcomes.values()].filter(({ status }) => status === "PENDING")
  return {
    backUp: () => backUpOf(welcomes),
    put: (welcome) => welcomes.set(welcome.id, welcome),
    voidOf(conversationId, deviceIds) {
      for (const one of pending()) {
        if (one.conversationId !== conversationId || !deviceIds.includes(one.deviceId)) continue
        welcomes.set(one.id, { ...one, status: "VOID", welcome: none })
      }
    },
    async listPending(deviceId, nowMs, { size, after }) {
      const own = pending().filter((one) => one.deviceId === deviceId && nowMs < one.expiresAtMs)
      const from = after === null ? 0 : own.findIndex(({ id }) => id === after.id) + 1
      return own.slice(from, from + size)
    },
    async consume(id, by, nowMs) {
      const welcome = welcomes.get(id)
      const decision = decideConsume(welcome, by, nowMs)
      if (welcome === undefined || decision === "NOT_FOUND") return "NOT_FOUND"
      if (decision !== "consume") return decision === "again" ? welcome : decision
      const consumed = { ...welcome, status: "CONSUMED", consumedWithKey: by.key, welcome: none } as const
      welcomes.set(id, consumed)
      return consumed
    },
    findPending: async (deviceId, conversationId) =>
      pending().findLast((one) => one.deviceId === deviceId && one.conversationId === conversationId),
    wereUsed: async (conversationId, refs) =>
      [...welcomes.values()].some(
        (one) => one.conversationId === conversationId && refs.some((ref) => equalBytes(ref, one.keyPackageRef)),
      ),
    async voidAll(deviceId) {
      for (const one of pending()) {
        if (one.deviceId === deviceId) welcomes.set(one.id, { ...one, status: "VOID", welcome: none })
      }
    },
  }
}
