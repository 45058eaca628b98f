import type { PushEndpoints } from "@signet/kernel/messaging/push"
import { ask } from "./asking.ts"
import type { DurableEnv } from "./env.ts"
import { inParallel } from "./in-parallel.ts"

/** Endpoints are stored in the object of their device, whose alarm sends the pushes. */
export const durablePushes = (env: DurableEnv): PushEndpoints => ({
  set: (endpoint, nowMs, audit) => ask(() => env.DEVICES.getByName(endpoint.deviceId).setPush(endpoint, nowMs, audit)),
  delete: (deviceId, audit, registrationId) =>
    ask(() => env.DEVICES.getByName(deviceId).deletePush(registrationId ?? null, audit)),
  async schedule(targets, nowMs, random) {
    const deviceIds =
      "deviceIds" in targets
        ? targets.deviceIds
        : await ask(() => env.CONVERSATIONS.getByName(targets.conversationId).devicesOfOthers(targets.exceptUserId))
    // A call for each member's device: only its object knows whether it has an endpoint.
    await inParallel(deviceIds, (id) => ask(() => env.DEVICES.getByName(id).schedulePush(nowMs, random())))
  },
})
