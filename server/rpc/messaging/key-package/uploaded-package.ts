import { equalBytes, toHex } from "@signet/canonical/bytes"
import { verifyDeviceCredential } from "@signet/canonical/device-credential"
import { Refused } from "@signet/kernel/errors"
import { idBytes } from "@signet/kernel/ids"
import { lifetimeFault } from "@signet/kernel/messaging/key-package"
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { KeyPackageRecord, MessagingDevice } from "@signet/kernel/messaging/records"
import { type KeyPackage, keyPackageRef, parseKeyPackage, verifyKeyPackage } from "../../../framing/key-package.ts"
import type { MessagingDeps } from "../deps.ts"
import { placeBytes, unixSeconds } from "../place.ts"
import { readMls, refusedFor, rethrowAs } from "../refusing.ts"

type Deps = Pick<MessagingDeps, "issuerKeys" | "verify">

/**
 * Builds the record of an uploaded key package. It is of the calling device and its newest credential, its signatures
 * verify, and it does not expire soon, so others may claim it.
 *
 * @param bytes MLSMessage as uploaded.
 * @throws Refused MLS_MALFORMED, MLS_NON_CANONICAL, MLS_WRONG_WIRE_FORMAT, LIMIT_EXCEEDED, KEY_PACKAGE_INVALID,
 * CREDENTIAL_INVALID
 */
export function openUploadedPackage(
  deps: Deps,
  device: MessagingDevice,
  { bytes, isLastResort }: { readonly bytes: Uint8Array; readonly isLastResort: boolean },
  nowMs: number,
): KeyPackageRecord {
  const opened = readMls(["key_package_bytes", maxBytes.keyPackage], () => parseKeyPackage(bytes))
  if (opened.lastResort !== isLastResort) throw invalid("KEY_PACKAGE_LAST_RESORT")
  // A time beyond the year 200,000 is inexact as a number. The lifetime check refuses it.
  const life = {
    isLastResort,
    notBeforeMs: Number(opened.notBefore) * 1_000,
    notAfterMs: Number(opened.notAfter) * 1_000,
  }
  const fault = lifetimeFault(life, nowMs)
  if (fault !== undefined) throw invalid("KEY_PACKAGE_LIFETIME")
  const credentialHash = checkCredential(deps, device, opened, nowMs)
  if (!verifyKeyPackage(opened, deps.verify)) throw invalid("KEY_PACKAGE_SIGNATURE")
  return {
    ref: keyPackageRef(opened),
    initKey: opened.initKey,
    deviceId: device.id,
    userId: device.userId,
    credentialHash,
    bytes,
    ...life,
    // A package is unusable once its credential has expired.
    notAfterMs: Math.min(life.notAfterMs, device.expiresAtMs),
    status: "AVAILABLE",
  }
}

/** @throws Refused CREDENTIAL_INVALID */
function checkCredential(deps: Deps, device: MessagingDevice, { leafNode }: KeyPackage, nowMs: number): Uint8Array {
  const { body, hash } = rethrowAs("CREDENTIAL_INVALID", () =>
    verifyDeviceCredential(leafNode.identity, {
      issuerKeys: deps.issuerKeys(),
      ...placeBytes(device),
      leafKey: leafNode.signatureKey,
      atSeconds: unixSeconds(nowMs),
      verify: deps.verify,
    }),
  )
  if (!equalBytes(body.deviceId, idBytes(device.id))) throw refusedFor("CREDENTIAL_INVALID", "CRED_WRONG_DEVICE")
  if (!equalBytes(hash, device.credentialHash)) throw refusedFor("CREDENTIAL_INVALID", "CRED_NOT_NEWEST")
  return hash
}

/** @throws Refused KEY_PACKAGE_DUPLICATE if two packages have the same init key, which must be used once. */
export function ensureDistinct(packages: readonly KeyPackageRecord[]): void {
  if (new Set(packages.map(({ initKey }) => toHex(initKey))).size < packages.length) {
    throw new Refused("KEY_PACKAGE_DUPLICATE")
  }
}

const invalid = (code: string): Refused => refusedFor("KEY_PACKAGE_INVALID", code)
