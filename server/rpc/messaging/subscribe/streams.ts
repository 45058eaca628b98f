import type { DeviceId } from "@signet/kernel/ids"
import { maxCount } from "@signet/kernel/messaging/limits"
import { limitExceeded } from "../refusing.ts"
import type { After } from "../timers.ts"

/** How many streams each device has in this process. */
export interface Streams {
  /**
   * @param write Has the stream write something to its reader.
   * @returns gives the place back. @throws Refused LIMIT_EXCEEDED
   */
  open(deviceId: DeviceId, write: () => void): Promise<() => void>
}

export interface StreamsOptions {
  readonly most?: number
  /** Where it is seen by writing alone that a reader has gone: what writes lead to is waited for. */
  readonly unseen?: { readonly after: After; readonly waitMs: number }
}

const stepMs = 25

export function createStreams({ most = maxCount.streamsPerDevice, unseen }: StreamsOptions = {}): Streams {
  const open = new Map<DeviceId, Set<() => void>>()
  const isFull = (deviceId: DeviceId) => (open.get(deviceId)?.size ?? 0) >= most

  /** Waits until one of the streams turns out to have no reader, or until it is clear that all have. */
  async function look(deviceId: DeviceId, { after, waitMs }: NonNullable<typeof unseen>): Promise<void> {
    for (const write of open.get(deviceId) ?? []) write()
    for (let waited = 0; waited < waitMs && isFull(deviceId); waited += stepMs) {
      await new Promise<void>((resolve) => {
        after(stepMs, resolve)
      })
    }
  }

  return {
    async open(deviceId, write) {
      if (isFull(deviceId) && unseen !== undefined) await look(deviceId, unseen)
      if (isFull(deviceId)) throw limitExceeded("streams_per_device", most)
      // Its own, so that it is counted once and given back once.
      const own = () => write()
      open.set(deviceId, (open.get(deviceId) ?? new Set()).add(own))
      return () => {
        const there = open.get(deviceId)
        there?.delete(own)
        if (there?.size === 0) open.delete(deviceId)
      }
    },
  }
}
