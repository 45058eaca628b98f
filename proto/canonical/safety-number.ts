import { create } from "@bufbuild/protobuf"
import { sha512 } from "@noble/hashes/sha2.js"
import { DeviceFingerprintV1Schema, UserKeySetV1Schema } from "@signet/proto/credential/v1/safety_qr"
import { SignatureScheme } from "@signet/proto/credential/v1/signed"
import { absent, concat } from "./bytes.ts"
import { encode } from "./canonical.ts"
import { hash } from "./hash.ts"

/** A user within its app. Each id is 16 bytes; `tenantId` is undefined without a tenant. */
export interface SafetyUser {
  readonly tenantId: Uint8Array | undefined
  readonly appId: Uint8Array
  readonly userId: Uint8Array
}

/** An active device of a user: id and leaf signature key. */
export interface SafetyDevice {
  readonly deviceId: Uint8Array
  readonly leafKey: Uint8Array
}

/** Number of hash iterations, as in libsignal: slows down a search for similar fingerprints. */
const iterations = 5200

/** The 32-byte fingerprint of one device's key. */
export function deviceFingerprint(user: SafetyUser, device: SafetyDevice): Uint8Array {
  const { tenantId = absent, appId, userId } = user
  const named = { tenantId, appId, userId, deviceId: device.deviceId, key: device.leafKey }
  const message = create(DeviceFingerprintV1Schema, { ...named, scheme: SignatureScheme.ED25519 })
  return hash("device-fingerprint/v1", encode(DeviceFingerprintV1Schema, message))
}

/**
 * The 32-byte fingerprint of a user's active devices, in any order. With M the canonical UserKeySetV1: h0 = SHA-512(00
 * 01 M user_id), h(i) = SHA-512(h(i-1) M). The result is the first 32 bytes of h(5200).
 */
export function userFingerprint(user: SafetyUser, devices: readonly SafetyDevice[]): Uint8Array {
  const { tenantId = absent, appId, userId } = user
  const keys = devices.map(({ deviceId, leafKey }) => ({ deviceId, scheme: SignatureScheme.ED25519, key: leafKey }))
  const keySet = encode(UserKeySetV1Schema, create(UserKeySetV1Schema, { version: 1, tenantId, appId, userId, keys }))
  let digest = sha512(concat(Uint8Array.of(0, 1), keySet, userId))
  for (let i = 0; i < iterations; i++) digest = sha512(concat(digest, keySet))
  return digest.slice(0, 32)
}

/**
 * The digits that users compare: five for every five bytes (big-endian, modulo 100000), in groups separated by spaces.
 *
 * @param bytes Only whole groups of five are used: 30 of a fingerprint's 32.
 */
export function digits(bytes: Uint8Array): string {
  const groups: string[] = []
  for (let at = 0; at + 5 <= bytes.length; at += 5) {
    const value = bytes.subarray(at, at + 5).reduce((sum, byte) => sum * 256 + byte, 0)
    groups.push(String(value % 100_000).padStart(5, "0"))
  }
  return groups.join(" ")
}

/** The 60 digits that two users compare, identical on both sides: each user's 30, the smaller first. */
export function safetyNumber(oneFingerprint: Uint8Array, otherFingerprint: Uint8Array): string {
  return [digits(oneFingerprint), digits(otherFingerprint)].sort().join(" ")
}
