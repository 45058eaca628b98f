// Ed25519 with OpenSSL: about twenty times faster than the portable implementation, with the same strict rules.
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto"
import type { SyncSigner, Verify } from "../ed25519.ts"
import { rememberByKey } from "../remember-by-key.ts"
import { isSoundKey, isSoundSignature } from "../sound-key.ts"

export { isSoundPublicKey } from "../sound-key.ts"

/** Equivalent to the portable `verifyEd25519`; a test compares them. */
export const nodeVerify: Verify = (publicKey, message, signature) => {
  if (publicKey.length !== 32 || signature.length !== 64 || !isSoundSignature(signature)) return false
  try {
    const key = keyObjects.of(publicKey)
    return key !== undefined && verify(null, message, key, signature)
  } catch {
    return false
  }
}

/** Caches imported keys: an issuer's key verifies the credentials of a whole group. Invalid keys are not cached. */
const keyObjects = rememberByKey<KeyObject>((publicKey) => {
  // Some versions of OpenSSL accept keys that are not canonical or of small order. `verifyEd25519` rejects both.
  if (!isSoundKey(publicKey)) return undefined
  const x = Buffer.from(publicKey).toString("base64url")
  // Imported as JWK, because DER import costs ten times as much.
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })
})

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
