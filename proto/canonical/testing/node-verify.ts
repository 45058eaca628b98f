import { createPublicKey, verify as verifySignature } from "node:crypto"
import type { Verify } from "../ed25519.ts"

/** OpenSSL's Ed25519, which accepts keys of small order. */
export const nodeVerify: Verify = (publicKey, message, signature) => {
  const jwk = { kty: "OKP", crv: "Ed25519", x: Buffer.from(publicKey).toString("base64url") }
  return verifySignature(null, message, createPublicKey({ key: jwk, format: "jwk" }), signature)
}
