import { deviceFingerprint } from "@signet/canonical/safety-number"
import type { Context } from "../context.ts"
import { MessagingError } from "../errors.ts"
import { bytesOfId } from "../ids.ts"
import { readDevices } from "../verification/device-lists.ts"
import type { DeviceKey } from "../verification/noticing.ts"
import { readPeer, rememberList } from "../verification/peer-rows.ts"

/**
 * The user's devices that are active in the newest signed list, this one included. The list is remembered: a service
 * cannot return an earlier one later, in which a revoked device is active.
 *
 * @throws CanonicalError LIST_*, DEVICE_LIST_FORK
 */
export async function ownKeys(context: Context): Promise<readonly DeviceKey[]> {
  const { userId } = context.owner
  const { record } = await readPeer(context, userId)
  const seen =
    record === undefined || record.listVersion === 0n || record.listFault !== ""
      ? undefined
      : { version: record.listVersion, hash: record.listHash }
  const { head, active } = await readDevices(context, userId, seen)
  if (head !== undefined) await rememberList(context, userId, head)
  return active
}

/** @throws MessagingError HISTORY_REFUSED for a device that is not active in the list. */
export function keyOf(keys: readonly DeviceKey[], deviceId: string): DeviceKey {
  const found = keys.find((one) => one.deviceId === deviceId)
  if (found === undefined) throw new MessagingError("HISTORY_REFUSED", "the device is not an active one of this user")
  return found
}

/** The 32-byte fingerprint of one of the user's devices. */
export const fingerprintOf = ({ owner }: Pick<Context, "owner">, { deviceId, key }: DeviceKey): Uint8Array =>
  deviceFingerprint(
    { tenantId: owner.tenant, appId: owner.app, userId: owner.user },
    { deviceId: bytesOfId("dev", deviceId), leafKey: key },
  )
