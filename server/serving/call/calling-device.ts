import { createContextKey, type HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import type { MessagingDevice } from "@signet/kernel/messaging/records"

/** The device that the token names, ACTIVE at this call. Set by the interceptor in device-proof.ts. */
export const kDevice = createContextKey<MessagingDevice | undefined>(undefined, { description: "the calling device" })

/** The calling device, as the requirement `device` ensures. @throws Refused INTERNAL without one */
export function deviceOf(context: HandlerContext): MessagingDevice {
  const device = context.values.get(kDevice)
  if (device === undefined) {
    throw new Refused("INTERNAL", { cause: new Error(`${context.method.name} was reached without a device`) })
  }
  return device
}
