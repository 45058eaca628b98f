import type { ConversationId, DeviceId } from "@signet/kernel/ids"
import type { MessagingDeps } from "./deps.ts"

const restMs = 10_000
const most = 10_000

/** Records that member devices are online, at the interval that the store needs. */
export interface Attendance {
  touch(conversationId: ConversationId, deviceId: DeviceId): Promise<void>
}

export function createAttendance({ store, clock }: Pick<MessagingDeps, "store" | "clock">): Attendance {
  const told = new Map<string, number>()
  return {
    async touch(conversationId, deviceId) {
      const key = `${conversationId} ${deviceId}`
      const nowMs = clock.nowMs()
      const lastMs = told.get(key)
      if (lastMs !== undefined && nowMs - lastMs < restMs) return
      told.delete(key)
      told.set(key, nowMs)
      const [oldest] = told.keys()
      if (told.size > most && oldest !== undefined) told.delete(oldest)
      await store.conversations.touch(conversationId, deviceId, nowMs)
    },
  }
}
