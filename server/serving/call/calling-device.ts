import { createContextKey, type HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import type { MessagingDevice } from "@signet/kernel/messaging/records"

/** The device that the token names, looked up at this call and ACTIVE. Set by the interceptor of device-proof.ts. */
export const kDevice = createContextKey<MessagingDevice | undefined>(undefined, { description: "the calling device" })

/** The calling device: what the requirement `device` promises. Anything else is a fault of the service. */
export function deviceOf(context: HandlerContext): MessagingDevice {
  const device = context.values.get(kDevice)
  if (device === undefined) {
    throw new Refused("INTERNAL", { cause: new Error(`${context.method.name} was reached without a device`) })
  }
  return device
}
