import type { DeviceId } from "@signet/kernel/ids"
import { maxCount } from "@signet/kernel/messaging/limits"
import { limitExceeded } from "../../refusing.ts"

/** How many streams each device has. */
export interface Streams {
  /**
   * @param write Has the stream write something to its reader.
   * @returns gives the place back. @throws Refused LIMIT_EXCEEDED. UNAVAILABLE when nobody can count.
   */
  open(deviceId: DeviceId, write: () => void): Promise<() => void>
}

/** Counted in this process, which sees that a reader has gone. */
export function createStreams({ most = maxCount.streamsPerDevice }: { readonly most?: number } = {}): Streams {
  const open = new Map<DeviceId, number>()
  return {
    async open(deviceId) {
      const there = open.get(deviceId) ?? 0
      if (there >= most) throw limitExceeded("streams_per_device", most)
      open.set(deviceId, there + 1)
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        const left = (open.get(deviceId) ?? 1) - 1
        if (left > 0) open.set(deviceId, left)
        else open.delete(deviceId)
      }
    },
  }
}
