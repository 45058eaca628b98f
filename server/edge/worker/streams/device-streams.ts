// Limits the streams of a device over all isolates: the device's object counts its open sockets.
import type { DeviceId } from "@signet/kernel/ids"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { Streams } from "../../../rpc/messaging/conversation/subscribe/streams.ts"
import { limitExceeded } from "../../../rpc/messaging/refusing.ts"
import type { After } from "../../../rpc/messaging/timers.ts"
import { ask } from "../../../store/durable/asking.ts"

export interface DeviceStreams extends Streams {
  /** Makes the device's streams of this isolate write, because only a write detects a reader that has disconnected. */
  beat(deviceId: DeviceId): void
}

const waitMs = 500
const stepMs = 100

export function createDeviceStreams(of: {
  devices: { getByName(name: string): { admitStream(most: number): Promise<boolean> } }
  after: After
}): DeviceStreams {
  const here = new Map<DeviceId, Set<() => void>>()
  return {
    async open(deviceId, write) {
      const most = maxCount.streamsPerDevice
      // On refusal, the object checks the other streams: those whose reader has disconnected are closed.
      for (let waited = 0; !(await ask(() => of.devices.getByName(deviceId).admitStream(most))); waited += stepMs) {
        if (waited >= waitMs) throw limitExceeded("streams_per_device", most)
        await new Promise<void>((resolve) => {
          of.after(stepMs, resolve)
        })
      }
      const own = () => write()
      here.set(deviceId, (here.get(deviceId) ?? new Set()).add(own))
      return () => {
        const there = here.get(deviceId)
        there?.delete(own)
        if (there?.size === 0) here.delete(deviceId)
      }
    },
    beat(deviceId) {
      for (const write of here.get(deviceId) ?? []) write()
    },
  }
}
