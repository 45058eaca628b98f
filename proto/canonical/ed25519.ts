import { ed25519 } from "@noble/curves/ed25519.js"
import { sha512 } from "@noble/hashes/sha2.js"
import { concat, equalBytes, toHex } from "./bytes.ts"
import { rememberByKey } from "./remember-by-key.ts"

/**
 * Whether an Ed25519 signature is good: synchronous, so that a callback cannot forget to wait for it.
 *
 * An implementation of its own keeps to the rule of `verifyEd25519`.
 */
export type Verify = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean

/** Signs with a key that the caller does not see: a keystore, a service. */
export interface Signer {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** The 64 bytes of an Ed25519 signature over the message. */
  sign(message: Uint8Array): Uint8Array | Promise<Uint8Array>
}

/** A signer that answers at once, for what must not wait between a read and a write. */
export interface SyncSigner extends Signer {
  sign(message: Uint8Array): Uint8Array
}

const { Point } = ed25519
const order = Point.Fn.ORDER

/**
 * Verifies as RFC 8032 section 5.1.7, by its strictest reading, so that no two readers differ: A is a canonical point
 * and not of small order, S is below the group order, and the encoding of [S]B - [k]A equals R byte for byte.
 */
export function verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== 32 || signature.length !== 64) return false
  const r = signature.subarray(0, 32)
  const s = littleEndian(signature.subarray(32))
  if (s >= order) return false
  const minusA = negatedOf(publicKey)
  if (minusA === undefined) return false
  const k = littleEndian(sha512(concat(r, publicKey, message))) % order
  const expected = Point.BASE.multiplyUnsafe(s).add(minusA.multiplyUnsafe(k))
  return equalBytes(expected.toBytes(), r)
}

/** A signer over a 32-byte secret seed, held in memory. */
export function seedSigner(seed: Uint8Array): SyncSigner {
  return { publicKey: ed25519.getPublicKey(seed), sign: (message) => ed25519.sign(message, seed) }
}

/** Whether a 32-byte public key is one that a signature can verify under. */
export function isPublicKey(bytes: Uint8Array): boolean {
  return bytes.length === 32 && sound.of(bytes) !== undefined
}

/** To find the point costs as much as a hundred hashes, and an issuer's keys are looked at with every paper. */
const sound = rememberByKey((publicKey) => (soundPointOf(publicKey) === undefined ? undefined : { isSound: true }), 256)

/**
 * -A, of a sound key alone. A key that signs often, as an issuer's does, gets a table of its multiples: some 5 ms and 0.4 MB
 * once, and a verification then costs a quarter.
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
