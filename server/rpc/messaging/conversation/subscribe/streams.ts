import type { DeviceId } from "@signet/kernel/ids"
import { maxCount } from "@signet/kernel/messaging/limits"
import { limitExceeded } from "../../refusing.ts"

/** Limits the open streams of each device. */
export interface Streams {
  /**
   * @param write Makes the stream write to its reader.
   * @returns Releases the stream. @throws Refused LIMIT_EXCEEDED; UNAVAILABLE when the streams cannot be counted.
   */
  open(deviceId: DeviceId, write: () => void): Promise<() => void>
}

/** Counts in this process, which notices a closed connection. */
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
