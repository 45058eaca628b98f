// Fixed keys and deterministic signatures (RFC 6979), so that regenerated vectors do not change. The keys are public:
// nothing but these vectors may trust them.
import { p256 } from "@noble/curves/nist.js"
import { encodeBase64url } from "../base64url.ts"
import { encode } from "../testing/issuer.ts"

export interface VectorKey {
  /** The public key, as published in a key set. */
  readonly jwk: Readonly<Record<"kty" | "crv" | "x" | "y" | "kid" | "alg" | "use", string>>
  /** Signs header and payload exactly as given. */
  signParts(headerPart: string, payloadPart: string): string
  /** The signature over a text. */
  signature(text: string): Uint8Array
}

/** @param seed 1 to 255: the private key consists of 32 bytes with this value. */
export function vectorKey(seed: number, kid: string): VectorKey {
  const secretKey = new Uint8Array(32).fill(seed)
  const point = p256.getPublicKey(secretKey, false)
  const signature = (text: string) => p256.sign(new TextEncoder().encode(text), secretKey, { lowS: false })
  return {
    jwk: {
      kty: "EC",
      crv: "P-256",
      x: encodeBase64url(point.subarray(1, 33)),
      y: encodeBase64url(point.subarray(33)),
      kid,
      alg: "ES256",
      use: "sig",
    },
    signParts: (headerPart, payloadPart) =>
      `${headerPart}.${payloadPart}.${encodeBase64url(signature(`${headerPart}.${payloadPart}`))}`,
    signature,
  }
}

export const accessKey: VectorKey = vectorKey(1, "key-1")
/** A key with the kid of accessKey. */
export const strangerKey: VectorKey = vectorKey(2, "key-1")
/** Signs statements of the revocation feed and permission snapshots, not access tokens. */
export const statementKey: VectorKey = vectorKey(3, "statement-1")
export const nextKey: VectorKey = vectorKey(4, "key-2")

/** A JWT of this type with changed header parameters; undefined removes one. */
export function jwt(key: VectorKey, typ: string, claims: object, header: object = {}): string {
  return key.signParts(encode({ alg: "ES256", typ, kid: key.jwk.kid, ...header }), encode(claims))
}
