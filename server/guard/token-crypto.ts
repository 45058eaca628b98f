// The two cryptographic operations of a verifier, as a port: WebCrypto everywhere, node:crypto where synchronous calls
// are faster.

/** A public key for ES256 (RFC 7518 section 6.2), with only the members that a verifier reads. */
export interface EcPublicJwk {
  readonly kid: string
  /** 32 bytes as base64url. */
  readonly x: string
  /** 32 bytes as base64url. */
  readonly y: string
}

export interface VerifyKey {
  /** Verifies ECDSA on P-256 with SHA-256. The signature is r and s (IEEE P1363): 64 bytes. */
  verify(signature: Uint8Array<ArrayBuffer>, data: Uint8Array<ArrayBuffer>): boolean | Promise<boolean>
}

export interface TokenCrypto {
  /** @throws Error if x and y are not a point on the curve. */
  importKey(jwk: EcPublicJwk): VerifyKey | Promise<VerifyKey>
  /** SHA-256 of the text as UTF-8, in any deterministic text encoding. */
  digest(text: string): string | Promise<string>
}

const ecdsa = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }

export const webTokenCrypto: TokenCrypto = {
  async importKey({ x, y }) {
    const key = await crypto.subtle.importKey("jwk", { kty: "EC", crv: "P-256", x, y }, ecdsa, false, ["verify"])
    return { verify: (signature, data) => crypto.subtle.verify(ecdsa, key, signature, data) }
  },
  async digest(text) {
    const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)))
    return String.fromCharCode(...bytes)
  },
}
