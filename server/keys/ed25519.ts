// Ed25519 by OpenSSL, some twenty times faster than the portable one, and by the same strict rule.
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto"
import { type SyncSigner, seedSigner, type Verify } from "@signet/canonical/ed25519"

// Some versions of OpenSSL take points that are not canonical or of small order as keys; `verifyEd25519` takes neither.
const p = 2n ** 255n - 19n
/** The y of the eight points whose order divides 8 (canonical ones). */
const smallOrderY: ReadonlySet<bigint> = new Set([
  0n,
  1n,
  p - 1n,
  2707385501144840649318225287225658788936804267575313519463743609750303021418n,
  p - 2707385501144840649318225287225658788936804267575313519463743609750303021418n,
])

/** As `verifyEd25519` of proto/canonical: a test holds the two together. */
export const nodeVerify: Verify = (publicKey, message, signature) => {
  if (publicKey.length !== 32 || signature.length !== 64 || !isSoundKey(publicKey)) return false
  try {
    const x = Buffer.from(publicKey).toString("base64url")
    // As JWK: DER costs ten times as much to import.
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })
    return verify(null, message, key, signature)
  } catch {
    return false
  }
}

function isSoundKey(publicKey: Uint8Array): boolean {
  const bigEndian = Buffer.from(publicKey.toReversed())
  bigEndian.writeUInt8(bigEndian.readUInt8(0) & 0x7f, 0)
  const y = BigInt(`0x${bigEndian.toString("hex")}`)
  return y < p && !smallOrderY.has(y)
}

/** A signer over a 32-byte secret seed. Equal input gives equal bytes (RFC 8032 section 5.1.6). */
export function nodeSigner(seed: Uint8Array): SyncSigner {
  const { publicKey } = seedSigner(seed)
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url")
  // Imported and not generated: exporting a generated key can hang some versions of Node.
  const key = createPrivateKey({
    key: { kty: "OKP", crv: "Ed25519", d: text(seed), x: text(publicKey) },
    format: "jwk",
  })
  return { publicKey, sign: (message) => new Uint8Array(sign(null, message, key)) }
}
