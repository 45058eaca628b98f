import { createPublicKey, hash, verify } from "node:crypto"
import type { TokenCrypto } from "../token-crypto.ts"

/** On Node, a call into OpenSSL on this thread costs less than the way to WebCrypto's threads and back. */
export const nodeTokenCrypto: TokenCrypto = {
  importKey({ x, y }) {
    const key = createPublicKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x, y } })
    const options = { key, dsaEncoding: "ieee-p1363" } as const
    return { verify: (signature, data) => verify("sha256", data, options, signature) }
  },
  digest: (text) => hash("sha256", text, "base64"),
}
