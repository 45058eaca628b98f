// Verifies a device's request, and issues its credential.
import { verifyDeviceRequest } from "@signet/canonical/device-request"
import { issuerIdOf } from "@signet/canonical/hash"
import { type DeviceId, idBytes, type PrincipalId } from "@signet/kernel/ids"
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { MessagingDevice, Place } from "@signet/kernel/messaging/records"
import { DeviceFlag } from "@signet/proto/credential/v1/device_credential"
import { type DeviceRequestBodyV1, StorageClass } from "@signet/proto/credential/v1/device_request"
import type { MessagingDeps } from "../deps.ts"
import { placeBytes, unixSeconds } from "../place.ts"
import { rethrowAs } from "../refusing.ts"

/** How long before its issue a credential becomes valid, for verifiers whose clock is behind. */
export const earlyMs = 300_000

/** A verified device request, with its signed bytes. */
export interface DeviceRequest {
  readonly body: DeviceRequestBodyV1
  readonly bytes: Uint8Array
}

/** @throws Refused CREDENTIAL_INVALID with the canonical code. */
export function openDeviceRequest(
  { issuer, clock, verify }: Pick<MessagingDeps, "issuer" | "clock" | "verify">,
  of: { userId: PrincipalId; place: Place },
  bytes: Uint8Array,
): DeviceRequest {
  const body = rethrowAs("CREDENTIAL_INVALID", () =>
    verifyDeviceRequest(bytes, {
      issuerId: issuerIdOf(issuer),
      ...placeBytes(of.place),
      userId: idBytes(of.userId),
      atSeconds: unixSeconds(clock.nowMs()),
      verify,
    }),
  )
  return { body, bytes }
}

/** The DeviceFlag bits of the device's credential. */
export function flagsOf({ storageClass }: DeviceRequestBodyV1): number {
  const mayVanish = storageClass === StorageClass.BROWSER || storageClass === StorageClass.MEMORY
  return mayVanish ? DeviceFlag.EPHEMERAL_STORAGE : 0
}

/** Issues the credential. Returns the device's fields that the credential determines. */
export async function issueDeviceCredential(
  { authority }: Pick<MessagingDeps, "authority">,
  of: { userId: PrincipalId; place: Place; deviceId: DeviceId; request: DeviceRequest; serial: bigint },
  nowMs: number,
): Promise<Pick<MessagingDevice, "leafKey" | "credential" | "credentialHash" | "expiresAtMs" | "platform">> {
  const { request, ...who } = of
  const notBeforeMs = nowMs - earlyMs
  const expiresAtMs = notBeforeMs + lifetimeMs.credential
  const { leafSignatureKey: leafKey, platform } = request.body
  const flags = flagsOf(request.body)
  const facts = { ...who, leafKey, notBeforeMs, notAfterMs: expiresAtMs, flags }
  const { bytes, hash } = await authority.issueCredential(facts, request.bytes)
  return { leafKey, credential: bytes, credentialHash: hash, expiresAtMs, platform }
}
