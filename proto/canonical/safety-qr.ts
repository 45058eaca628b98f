import { create } from "@bufbuild/protobuf"
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire"
import { type SafetyQrV1, SafetyQrV1Schema } from "@signet/proto/credential/v1/safety_qr"
import { absent, equalBytes, holds } from "./bytes.ts"
import { decode, encode } from "./canonical.ts"
import { ensure, rethrowAs } from "./errors.ts"

/** One of the two users of a safety comparison. */
interface SafetySide {
  readonly userId: Uint8Array
  /** Fingerprint of the user's active devices (safety-number.ts). */
  readonly fingerprint: Uint8Array
  /** The device list's version that the fingerprint is computed from. */
  readonly listVersion: bigint
}

/** A safety comparison as seen by one device. */
export interface SafetyView {
  /** 16 bytes. Undefined requires that the code has no tenant. */
  readonly tenantId: Uint8Array | undefined
  readonly appId: Uint8Array
  readonly local: SafetySide
  readonly remote: SafetySide
}

/** The content of the QR code: a SafetyQrV1 in base64url without padding. */
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
 * Compares a scanned code with this device's view: the code's local side must equal this device's remote side, and vice
 * versa. Fingerprints are compared in constant time.
 *
 * @throws CanonicalError QR_*: _VERSION for a newer format, _SAME_SIDE for the code of this side itself,
 * _OTHER_LIST_VERSION if one side knows a newer device list (update and scan again), _MISMATCH if the keys differ: a
 * possible man-in-the-middle attack.
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
  // The version is the first field in every version of the code, so it can be checked before the rest is parsed.
  ensure(bytes[0] !== 0x08 || bytes[1] === 1, "QR_VERSION")
  return rethrowAs("QR_MALFORMED", () => decode(SafetyQrV1Schema, bytes))
}

function bytesOf(scanned: string): Uint8Array {
  ensure(/^[A-Za-z0-9_-]+$/.test(scanned) && scanned.length % 4 !== 1, "QR_MALFORMED", "base64url")
  const bytes = base64Decode(scanned)
  ensure(base64Encode(bytes, "url") === scanned, "QR_MALFORMED", "base64url")
  return bytes
}
