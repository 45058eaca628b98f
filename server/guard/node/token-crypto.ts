import { createPublicKey, hash, verify } from "node:crypto"
import type { TokenCrypto } from "../token-crypto.ts"

/** On Node, a synchronous OpenSSL call costs less than a round trip to WebCrypto's threads. */
export const nodeTokenCrypto: TokenCrypto = {
  importKey({ x, y }) {
    const key = createPublicKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x, y } })
    const options = { key, dsaEncoding: "ieee-p1363" } as const
    return { verify: (signature, data) => verify("sha256", data, options, signature) }
  },
  digest: (text) => hash("sha256", text, "base64"),
}
