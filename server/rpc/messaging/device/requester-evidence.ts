import { equalBytes } from "@signet/canonical/bytes"
import { decode } from "@signet/canonical/canonical"
import { parseSigned } from "@signet/canonical/signed"
import { Refused } from "@signet/kernel/errors"
import { idBytes } from "@signet/kernel/ids"
import type { RequesterEvidence } from "@signet/kernel/messaging/authority"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import { DeviceListBodyV1Schema } from "@signet/proto/credential/v1/device_list"
import type { MessagingDeps } from "../deps.ts"

const listsAtOnce = 50

/**
 * The proof that a leaf's credential is the device's: its current credential or, for a leaf that is older than the last
 * renewal, a device list that names it.
 */
export async function requesterEvidence(
  { store }: Pick<MessagingDeps, "store">,
  device: MessagingDevice,
  credentialHash: Uint8Array,
): Promise<RequesterEvidence> {
  if (equalBytes(device.credentialHash, credentialHash)) return { is: "credential", bytes: device.credential }
  for (let after = 0n; ; ) {
    const lists = await store.devices.lists(device.userId, device, after, listsAtOnce)
    const naming = lists.find(({ bytes }) => names(bytes, idBytes(device.id), credentialHash))
    if (naming !== undefined) return { is: "list", bytes: naming.bytes }
    const last = lists.at(-1)
    if (last === undefined)
      throw new Refused("INTERNAL", { cause: new Error("no device list has a leaf's credential") })
    after = last.version
  }
}

/** Does not verify the list: this service verified it before it was stored. */
function names(list: Uint8Array, deviceId: Uint8Array, credentialHash: Uint8Array): boolean {
  const { body } = parseSigned(DeviceListBodyV1Schema, list)
  return decode(DeviceListBodyV1Schema, body).entries.some(
    (entry) => equalBytes(entry.deviceId, deviceId) && equalBytes(entry.credentialHash, credentialHash),
  )
}
