import type { Welcomes } from "@signet/kernel/messaging/ports"
import { ask } from "./asking.ts"
import type { DurableEnv } from "./env.ts"

/** Welcomes are stored in the object of their device; the used packages in the object of the conversation. */
export function durableWelcomes(env: DurableEnv): Welcomes {
  return {
    listPending: (deviceId, nowMs, page) => ask(() => env.DEVICES.getByName(deviceId).listPending(nowMs, page)),
    consume: (id, by, nowMs, audit) => ask(() => env.DEVICES.getByName(by.deviceId).consume(id, by, nowMs, audit)),
    findPending: (deviceId, conversationId) => ask(() => env.DEVICES.getByName(deviceId).findPending(conversationId)),
    wereUsed: (conversationId, refs) => ask(() => env.CONVERSATIONS.getByName(conversationId).wereUsed(refs)),
    voidAll: (deviceId) => ask(() => env.DEVICES.getByName(deviceId).voidAll()),
  }
}
