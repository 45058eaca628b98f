// An administrator may revoke devices of others, and nothing else. The list before is signed by this issuer, so a
// backend cannot invent an entry: it can neither add a device nor restore a revoked one.
import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { idBytes, parseId } from "@signet/kernel/ids"
import { ListedDevice_Status, type SignDeviceListRequest } from "@signet/proto/authority/v1/authority_service"
import { type DeviceListBodyV1, DeviceStatus } from "@signet/proto/credential/v1/device_list"
import { notTheCallers } from "./backend.ts"

/** @throws Refused NOT_THE_CALLERS unless the request follows the list and differs from it only by revocations. */
export function requireOnlyRevocations(
  { listVersion, entries: before }: DeviceListBodyV1,
  { version, previousHash, previousList, entries }: SignDeviceListRequest,
): void {
  if (version !== listVersion + 1n || !equalBytes(previousHash, hash("device-list", previousList))) {
    throw notTheCallers("previous_list")
  }
  const isRevocation = (entry: (typeof entries)[number]): boolean => {
    const id = parseId("dev", entry.deviceId)
    const known = id && before.find(({ deviceId }) => equalBytes(deviceId, idBytes(id)))
    if (known === undefined || !equalBytes(known.credentialHash, entry.credentialHash)) return false
    return entry.status === ListedDevice_Status.REVOKED || known.status === DeviceStatus.ACTIVE
  }
  const isEach = new Set(entries.map(({ deviceId }) => deviceId)).size === before.length
  if (!isEach || entries.length !== before.length || !entries.every(isRevocation)) throw notTheCallers("entries")
}
