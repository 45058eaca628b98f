import { ed25519 } from "@noble/curves/ed25519.js"
import { sha512 } from "@noble/hashes/sha2.js"
import { concat, equalBytes, toHex } from "./bytes.ts"
import { rememberByKey } from "./remember-by-key.ts"
import { isSoundSignature } from "./sound-key.ts"

/**
 * Verifies an Ed25519 signature. Synchronous, so that a caller cannot forget to await it.
 *
 * Other implementations must follow the rules of `verifyEd25519`.
 */
export type Verify = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean

/** Signs with a key that the caller cannot read, such as one in a keystore or a service. */
export interface Signer {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** Returns the 64-byte Ed25519 signature of the message. */
  sign(message: Uint8Array): Uint8Array | Promise<Uint8Array>
}

/** A synchronous signer, for operations that must not wait between a read and a write. */
export interface SyncSigner extends Signer {
  sign(message: Uint8Array): Uint8Array
}

const { Point } = ed25519

/**
 * Verifies by the strictest reading of RFC 8032 section 5.1.7, so that all verifiers agree: A and R are canonical and not of
 * small order, S is below the group order, and the encoding of [S]B - [k]A equals R byte for byte.
 */
export function verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== 32 || signature.length !== 64) return false
  if (!isSoundSignature(signature)) return false
  const r = signature.subarray(0, 32)
  const s = littleEndian(signature.subarray(32))
  const minusA = negatedOf(publicKey)
  if (minusA === undefined) return false
  const k = littleEndian(sha512(concat(r, publicKey, message))) % Point.Fn.ORDER
  const expected = Point.BASE.multiplyUnsafe(s).add(minusA.multiplyUnsafe(k))
  return equalBytes(expected.toBytes(), r)
}

/** A signer with a 32-byte secret seed in memory. */
export function seedSigner(seed: Uint8Array): SyncSigner {
  return { publicKey: ed25519.getPublicKey(seed), sign: (message) => ed25519.sign(message, seed) }
}

/** True if signatures can verify with this public key: 32 bytes, a canonical point, not of small order. */
export function isPublicKey(bytes: Uint8Array): boolean {
  return bytes.length === 32 && sound.of(bytes) !== undefined
}

/**
 * Caches valid keys: decoding a point costs as much as a hundred hashes, and every verification uses an issuer's key.
 */
const sound = rememberByKey((publicKey) => (soundPointOf(publicKey) === undefined ? undefined : { isSound: true }), 256)

/**
 * Returns -A for a valid key. A frequently used key, such as an issuer's, gets a table of multiples: about 5 ms and 0.4
 * MB once, after which a verification costs a quarter.
 */
function negatedOf(publicKey: Uint8Array) {
  const known = negated.of(publicKey)
  if (known === undefined) return undefined
  known.uses++
  if (known.uses === usesBeforeTable) known.point.precompute(tableWindow)
  return known.point
}

const usesBeforeTable = 16
const tableWindow = 6
const negated = rememberByKey((publicKey) => {
  const point = soundPointOf(publicKey)
  return point && { point: point.negate(), uses: 0 }
}, 16)

function soundPointOf(publicKey: Uint8Array) {
  const point = pointOf(publicKey)
  return point === undefined || point.isSmallOrder() ? undefined : point
}

function pointOf(bytes: Uint8Array) {
  try {
    return Point.fromBytes(bytes, false)
  } catch {
    return undefined
  }
}

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${toHex(bytes.toReversed())}`)
}
