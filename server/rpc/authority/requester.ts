// Verifies credentials and device lists that a backend presents. This issuer signed them, so nothing is stored to
// verify them.
import { equalBytes } from "@signet/canonical/bytes"
import { decode } from "@signet/canonical/canonical"
import { verifyDeviceCredential } from "@signet/canonical/device-credential"
import { verifyDeviceList } from "@signet/canonical/device-list"
import { parseSigned } from "@signet/canonical/signed"
import { type DeviceId, idBytes, idOf, type PrincipalId } from "@signet/kernel/ids"
import type { Place } from "@signet/kernel/messaging/records"
import type { IssueProofRequest } from "@signet/proto/authority/v1/authority_service"
import { DeviceCredentialBodyV1Schema } from "@signet/proto/credential/v1/device_credential"
import { type DeviceListBodyV1, DeviceListBodyV1Schema, DeviceStatus } from "@signet/proto/credential/v1/device_list"
import { placeBytes, unixSeconds } from "../messaging/place.ts"
import { rethrowAs } from "../messaging/refusing.ts"
import { notTheCallers } from "./backend.ts"
import type { AuthorityDeps } from "./deps.ts"

type Deps = Pick<AuthorityDeps, "issuerKeys" | "verify" | "clock">
type Owner = { readonly userId: PrincipalId; readonly place: Place }

/**
 * Verifies that a credential hash belongs to this device of this user.
 *
 * @throws Refused CREDENTIAL_INVALID if the credential or list does not verify, NOT_THE_CALLERS if it is another
 * device's.
 */
export function checkRequester(deps: Deps, of: Owner & { deviceId: DeviceId }, request: IssueProofRequest): void {
  const { requester, requesterPaper } = request
  switch (requesterPaper.case) {
    case "requesterCredential":
      if (isCredentialOf(deps, of, requester, requesterPaper.value)) return
      break
    case "requesterList": {
      const { entries } = openList(deps, of, requesterPaper.value)
      const deviceId = idBytes(of.deviceId)
      const isNamed = entries.some(
        (entry) =>
          entry.status === DeviceStatus.ACTIVE &&
          equalBytes(entry.deviceId, deviceId) &&
          equalBytes(entry.credentialHash, requester),
      )
      if (isNamed) return
      break
    }
    case undefined:
      break
  }
  throw notTheCallers("requester")
}

function isCredentialOf(
  { issuerKeys, verify, clock }: Deps,
  { userId, place, deviceId }: Owner & { deviceId: DeviceId },
  requester: Uint8Array,
  bytes: Uint8Array,
): boolean {
  const { body, hash } = rethrowAs("CREDENTIAL_INVALID", () => {
    // The credential's own leaf key: possession of the key is not checked here.
    const { leafSignatureKey: leafKey } = decode(
      DeviceCredentialBodyV1Schema,
      parseSigned(DeviceCredentialBodyV1Schema, bytes).body,
    )
    const at = { ...placeBytes(place), leafKey, atSeconds: unixSeconds(clock.nowMs()) }
    return verifyDeviceCredential(bytes, { issuerKeys: issuerKeys(), ...at, verify })
  })
  return (
    equalBytes(hash, requester) &&
    equalBytes(body.userId, idBytes(userId)) &&
    equalBytes(body.deviceId, idBytes(deviceId))
  )
}

/** @throws Refused CREDENTIAL_INVALID */
export function openList({ issuerKeys, verify, clock }: Deps, of: Owner, bytes: Uint8Array): DeviceListBodyV1 {
  const at = { ...placeBytes(of.place), userId: idBytes(of.userId), atSeconds: unixSeconds(clock.nowMs()) }
  return rethrowAs(
    "CREDENTIAL_INVALID",
    () => verifyDeviceList(bytes, { issuerKeys: issuerKeys(), ...at, verify }).body,
  )
}

/** The owner that the list names, unverified. @throws Refused CREDENTIAL_INVALID */
export function ownerOf(bytes: Uint8Array): Owner {
  const { userId, appId, tenantId } = rethrowAs("CREDENTIAL_INVALID", () =>
    decode(DeviceListBodyV1Schema, parseSigned(DeviceListBodyV1Schema, bytes).body),
  )
  const place = { appId: idOf("app", appId), tenantId: tenantId.length === 0 ? null : idOf("ten", tenantId) }
  return { userId: idOf("prn", userId), place }
}
