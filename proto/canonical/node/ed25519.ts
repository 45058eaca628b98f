// Ed25519 with OpenSSL: about twenty times faster than the portable implementation, with the same strict rules.
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto"
import type { SyncSigner, Verify } from "../ed25519.ts"
import { rememberByKey } from "../remember-by-key.ts"

// Some versions of OpenSSL accept keys that are not canonical or of small order. `verifyEd25519` rejects both.
const p = 2n ** 255n - 19n
/** The canonical y coordinates of the eight points whose order divides 8. */
const smallOrderY: ReadonlySet<bigint> = new Set([
  0n,
  1n,
  p - 1n,
  2707385501144840649318225287225658788936804267575313519463743609750303402022n,
  p - 2707385501144840649318225287225658788936804267575313519463743609750303402022n,
])

/** Equivalent to the portable `verifyEd25519`; a test compares them. */
export const nodeVerify: Verify = (publicKey, message, signature) => {
  if (publicKey.length !== 32 || signature.length !== 64) return false
  try {
    const key = keyObjects.of(publicKey)
    return key !== undefined && verify(null, message, key, signature)
  } catch {
    return false
  }
}

/** Caches imported keys: an issuer's key verifies the credentials of a whole group. Invalid keys are not cached. */
const keyObjects = rememberByKey<KeyObject>((publicKey) => {
  if (!isSoundKey(publicKey)) return undefined
  const x = Buffer.from(publicKey).toString("base64url")
  // Imported as JWK, because DER import costs ten times as much.
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })
})

function isSoundKey(publicKey: Uint8Array): boolean {
  const y = yOf(publicKey)
  return y < p && !smallOrderY.has(y)
}

function yOf(publicKey: Uint8Array): bigint {
  const bigEndian = Buffer.from(publicKey.toReversed())
  bigEndian.writeUInt8(bigEndian.readUInt8(0) & 0x7f, 0)
  return BigInt(`0x${bigEndian.toString("hex")}`)
}

/** Equivalent to the portable `isPublicKey`: true if signatures can verify with this key. */
export function isSoundPublicKey(bytes: Uint8Array): boolean {
  return bytes.length === 32 && isSoundKey(bytes) && hasX(yOf(bytes))
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

/** A signer with a 32-byte secret seed. Deterministic (RFC 8032 section 5.1.6). */
export function nodeSigner(seed: Uint8Array): SyncSigner {
  if (seed.length !== 32) throw new Error("a seed has 32 bytes")
  // Imported, not generated: exporting a generated key can hang in some versions of Node.
  const der = Buffer.concat([seedPrefix, seed])
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" })
  const { x = "" } = createPublicKey(key).export({ format: "jwk" })
  return {
    publicKey: new Uint8Array(Buffer.from(x, "base64url")),
    sign: (message) => new Uint8Array(sign(null, message, key)),
  }
}

/** The prefix of an Ed25519 PrivateKeyInfo before the seed (RFC 8410 section 7). */
const seedPrefix = Buffer.from("302e020100300506032b657004220420", "hex")
