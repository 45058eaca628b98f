import { DeviceStatus } from "@signet/proto/credential/v1/device_list"
import type { Context } from "../context.ts"
import { MessagingError } from "../errors.ts"
import { bytesOfId, idOf } from "../ids.ts"
import { rethrowAs } from "../rethrow.ts"
import { verifiedList } from "../verification/device-lists.ts"

/**
 * Revokes a device of the own user. Only the signed device list proves the revocation, not the service's answer.
 *
 * @throws MessagingError ANSWER_REFUSED if the list does not revoke the device, which may then still be active.
 */
export async function revokeDevice(context: Context, deviceId: string): Promise<void> {
  bytesOfId("dev", deviceId)
  const { userId } = context.owner
  const { deviceList } = await context.calls.devices.revokeDevice({ deviceId })
  const { body } = await rethrowAs("ANSWER_REFUSED", () => verifiedList(context, userId, deviceList))
  const entry = body.entries.find((one) => idOf("dev", one.deviceId) === deviceId)
  if (entry?.status !== DeviceStatus.REVOKED) {
    throw new MessagingError("ANSWER_REFUSED", "the signed list does not say that the device has ended")
  }
}
