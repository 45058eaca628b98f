// Which Ed25519 public keys and signatures are sound, without curve arithmetic: for verifiers whose library checks less.
import { toHex } from "./bytes.ts"

const p = 2n ** 255n - 19n
/** The canonical y coordinates of the eight points whose order divides 8. */
const smallOrderY: ReadonlySet<bigint> = new Set([
  0n,
  1n,
  p - 1n,
  2707385501144840649318225287225658788936804267575313519463743609750303402022n,
  p - 2707385501144840649318225287225658788936804267575313519463743609750303402022n,
])

/** True if 32 bytes are canonical and not of small order. They may be no point of the curve. */
export function isSoundKey(publicKey: Uint8Array): boolean {
  const y = yOf(publicKey)
  return y < p && !smallOrderY.has(y)
}

/** The order of the base point (RFC 8032 section 5.1). */
const order = 2n ** 252n + 27742317777372353535851937790883648493n

/**
 * True if 64 bytes can be a signature: R is canonical and not of small order, S is below the group order. Libraries differ
 * on an R of small order, which only the owner of a key can make (decision 0082).
 */
export function isSoundSignature(signature: Uint8Array): boolean {
  return isSoundKey(signature.subarray(0, 32)) && numberOf(signature.subarray(32)) < order
}

/** Equivalent to `isPublicKey`: true if signatures can verify with this key. */
export function isSoundPublicKey(bytes: Uint8Array): boolean {
  return bytes.length === 32 && isSoundKey(bytes) && hasX(yOf(bytes))
}

/** The y coordinate: little-endian, without the sign of x in the highest bit. */
function yOf(publicKey: Uint8Array): bigint {
  return numberOf(publicKey) & (2n ** 255n - 1n)
}

/** Little-endian. */
function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${toHex(bytes.toReversed())}`)
}

// The curve is -x² + y² = 1 + d·x²·y² (RFC 8032 section 5.1).
const d = 37095705934669439343138083508754565189542113879843219016388785533085940283555n

/**
 * True if there is an x for this y: (y² - 1) / (d·y² + 1) must be a square, which multiplying by a square does not
 * change.
 */
function hasX(y: bigint): boolean {
  const y2 = (y * y) % p
  const product = ((y2 - 1n + p) * (d * y2 + 1n)) % p
  return power(product, (p - 1n) / 2n) === 1n
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  let square = base
  for (let left = exponent; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) result = (result * square) % p
    square = (square * square) % p
  }
  return result
}
