import type { ConversationId, DeviceId } from "@signet/kernel/ids"
import type { MessagingDeps } from "./deps.ts"

const restMs = 10_000
const most = 10_000

/** Records that member devices are online, at the interval that the store needs. */
export interface Attendance {
  touch(conversationId: ConversationId, deviceId: DeviceId): Promise<void>
}

export function createAttendance({ store, clock }: Pick<MessagingDeps, "store" | "clock">): Attendance {
  const reportedMs = new Map<string, number>()
  return {
    async touch(conversationId, deviceId) {
      const key = `${conversationId} ${deviceId}`
      const nowMs = clock.nowMs()
      const lastMs = reportedMs.get(key)
      if (lastMs !== undefined && nowMs - lastMs < restMs) return
      reportedMs.delete(key)
      reportedMs.set(key, nowMs)
      const [oldest] = reportedMs.keys()
      if (reportedMs.size > most && oldest !== undefined) reportedMs.delete(oldest)
      await store.conversations.touch(conversationId, deviceId, nowMs)
    },
  }
}
