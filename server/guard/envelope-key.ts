// A service's envelope key: made where it is used, registered by its public half and a proof.
import { encodeBase64url } from "./base64url.ts"
import { proofBytes, sha256 } from "./mailbox-payload.ts"

export interface EnvelopeKey {
  /** Not extractable. */
  readonly privateKey: CryptoKey
  /** RFC 7638 thumbprint. */
  readonly kid: string
  /** 32 bytes as base64url. */
  readonly x: string
  readonly y: string
}

const algorithm = { name: "ECDSA", namedCurve: "P-256" }

export async function createEnvelopeKey(): Promise<EnvelopeKey> {
  const pair = await crypto.subtle.generateKey(algorithm, false, ["sign", "verify"])
  const { x = "", y = "" } = await crypto.subtle.exportKey("jwk", pair.publicKey)
  return { privateKey: pair.privateKey, kid: await thumbprint(x, y), x, y }
}

/** Shows that the key is the account's own: 64 bytes. */
export async function proveEnvelopeKey({ privateKey }: EnvelopeKey, serviceAccountId: string): Promise<Uint8Array> {
  const signature = await crypto.subtle.sign(
    { name: "ECDSA", hash: "SHA-256" },
    privateKey,
    proofBytes(serviceAccountId),
  )
  return new Uint8Array(signature)
}

async function thumbprint(x: string, y: string): Promise<string> {
  const members = new TextEncoder().encode(JSON.stringify({ crv: "P-256", kty: "EC", x, y }))
  return encodeBase64url(await sha256(members))
}
