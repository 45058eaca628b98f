import type { DeviceId } from "@signet/kernel/ids"
import { maxCount } from "@signet/kernel/messaging/limits"
import { limitExceeded } from "../refusing.ts"

/** How many streams each device has in this process. */
export interface Streams {
  /** @returns gives the place back. @throws Refused LIMIT_EXCEEDED */
  open(deviceId: DeviceId): () => void
}

export function createStreams(most: number = maxCount.streamsPerDevice): Streams {
  const open = new Map<DeviceId, number>()
  return {
    open(deviceId) {
      const count = open.get(deviceId) ?? 0
      if (count >= most) throw limitExceeded("streams_per_device", most)
      open.set(deviceId, count + 1)
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        const left = (open.get(deviceId) ?? 1) - 1
        if (left === 0) open.delete(deviceId)
        else open.set(deviceId, left)
      }
    },
  }
}
