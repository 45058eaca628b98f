import { create } from "@bufbuild/protobuf"
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire"
import { type SafetyQrV1, SafetyQrV1Schema } from "@signet/proto/credential/v1/safety_qr"
import { absent, equalBytes, holds } from "./bytes.ts"
import { decode, encode } from "./canonical.ts"
import { ensure, refusingAs } from "./errors.ts"

/** One of the two users of a safety comparison. */
export interface SafetySide {
  readonly userId: Uint8Array
  /** Of its active devices (safety-number.ts). */
  readonly fingerprint: Uint8Array
  /** The version of the device list that the fingerprint is of. */
  readonly listVersion: bigint
}

/** A safety comparison as one device sees it. */
export interface SafetyView {
  /** 16 bytes; undefined outside any tenant, which is verified. */
  readonly tenantId: Uint8Array | undefined
  readonly appId: Uint8Array
  readonly local: SafetySide
  readonly remote: SafetySide
}

/** What to show as a QR code: base64url without padding of a SafetyQrV1. */
export function buildSafetyQr(view: SafetyView): string {
  const { tenantId = absent, appId, local, remote } = view
  const message = create(SafetyQrV1Schema, {
    version: 1,
    tenantId,
    appId,
    localUserId: local.userId,
    localFingerprint: local.fingerprint,
    remoteUserId: remote.userId,
    remoteFingerprint: remote.fingerprint,
    localListVersion: local.listVersion,
    remoteListVersion: remote.listVersion,
  })
  return base64Encode(encode(SafetyQrV1Schema, message), "url")
}

/**
 * Compares a scanned code with what this device knows: the other's local side must be our remote side, and the other
 * way round. Fingerprints are compared in constant time.
 *
 * @throws CanonicalError QR_*: _VERSION for a code of a later format, _SAME_SIDE for the code that this very side
 *   shows, _OTHER_LIST_VERSION when one of the two knows newer devices (update, then scan again), and _MISMATCH when
 *   the keys differ: somebody may be in between.
 */
export function checkSafetyQr(scanned: string, view: SafetyView): void {
  const code = parseSafetyQr(scanned)
  ensure(holds(code.tenantId, view.tenantId), "QR_WRONG_TENANT")
  ensure(equalBytes(code.appId, view.appId), "QR_WRONG_APP")
  const users = [code.localUserId, code.remoteUserId] as const
  ensure(!areUsers(users, view.local, view.remote), "QR_SAME_SIDE")
  ensure(areUsers(users, view.remote, view.local), "QR_WRONG_USER")
  const sameLists =
    code.localListVersion === view.remote.listVersion && code.remoteListVersion === view.local.listVersion
  ensure(sameLists, "QR_OTHER_LIST_VERSION")
  const remoteAgrees = equalBytes(code.localFingerprint, view.remote.fingerprint)
  const localAgrees = equalBytes(code.remoteFingerprint, view.local.fingerprint)
  ensure(remoteAgrees && localAgrees, "QR_MISMATCH")
}

function areUsers(users: readonly [Uint8Array, Uint8Array], first: SafetySide, second: SafetySide): boolean {
  return equalBytes(users[0], first.userId) && equalBytes(users[1], second.userId)
}

function parseSafetyQr(scanned: string): SafetyQrV1 {
  const bytes = bytesOf(scanned)
  // The version is the first field of every version of the code, so it can be told before the rest is understood.
  ensure(bytes[0] !== 0x08 || bytes[1] === 1, "QR_VERSION")
  return refusingAs("QR_MALFORMED", () => decode(SafetyQrV1Schema, bytes))
}

function bytesOf(scanned: string): Uint8Array {
  ensure(/^[A-Za-z0-9_-]+$/.test(scanned) && scanned.length % 4 !== 1, "QR_MALFORMED", "base64url")
  const bytes = base64Decode(scanned)
  ensure(base64Encode(bytes, "url") === scanned, "QR_MALFORMED", "base64url")
  return bytes
}
