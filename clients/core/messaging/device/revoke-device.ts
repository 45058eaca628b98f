import { DeviceStatus } from "@signet/proto/credential/v1/device_list"
import type { Context } from "../context.ts"
import { MessagingError } from "../errors.ts"
import { bytesOfId, idOf } from "../ids.ts"
import { refusingAs } from "../refusing.ts"
import { verifiedList } from "../verification/device-lists.ts"

/**
 * Ends a device of the own user. That it has ended, the signed list says, and not the service.
 *
 * @throws MessagingError ANSWER_REFUSED where the list does not say so: the device may be there still.
 */
export async function revokeDevice(context: Context, deviceId: string): Promise<void> {
  bytesOfId("dev", deviceId)
  const { userId } = context.owner
  const { deviceList } = await context.calls.devices.revokeDevice({ deviceId })
  const { body } = await refusingAs("ANSWER_REFUSED", () => verifiedList(context, userId, deviceList))
  const entry = body.entries.find((one) => idOf("dev", one.deviceId) === deviceId)
  if (entry?.status !== DeviceStatus.REVOKED) {
    throw new MessagingError("ANSWER_REFUSED", "the signed list does not say that the device has ended")
  }
}
