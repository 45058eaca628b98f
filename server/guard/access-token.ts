// Verifies an access token, in the order in which RFC 8725's attacks are cheapest to refuse.
import { type AuthContext, contextOf } from "@signet/kernel/authz/context"
import type { Reason } from "@signet/kernel/errors"
import type { Clock } from "@signet/kernel/ports"
import { parseClaims } from "@signet/kernel/token/claims"
import type { KeySet } from "./key-set.ts"
import { decodeBase64url, decodeObject, hasDuplicateNames } from "./strict-json.ts"
import type { TokenCrypto } from "./token-crypto.ts"

/** Clocks may differ by this much. */
export const skewSeconds = 30
const maxTokenLength = 8_192
const maxHeaders = 64
const encoder = new TextEncoder()

export interface VerifierOptions {
  readonly issuer: string
  /** The `aud` that is taken; null takes any, for the issuer itself, which then looks whom a token is for. */
  readonly audience: string | null
  readonly keySet: KeySet
  readonly crypto: TokenCrypto
  readonly clock: Clock
  /** How many verified tokens are remembered; 0 for none. */
  readonly cacheSize: number
}

/** Who a token says is calling, or why it is not taken. UNAVAILABLE: the keys could not be had. */
export type VerifyToken = (token: string) => Promise<AuthContext | Reason>

interface Header {
  readonly kid: string
}

interface Verified {
  readonly context: AuthContext
  readonly kid: string
}

export function createVerifier(options: VerifierOptions): VerifyToken {
  const { clock, keySet, crypto, issuer } = options
  // A key has one header, so the few that are in use are parsed once.
  const headers = new Map<string, Header>()
  const verified = new Map<string, Verified>()

  return async (token) => {
    if (token.length > maxTokenLength) return "MALFORMED_CREDENTIAL"
    const digest = options.cacheSize > 0 ? await crypto.digest(token) : ""
    const known = verified.get(digest)
    if (known !== undefined) {
      const late = untimely(known.context.claims, clock.nowMs())
      if (late !== undefined) {
        verified.delete(digest)
        return late
      }
      // A key that was withdrawn takes its tokens with it.
      if (typeof (await keySet.find(known.kid)) !== "string") return known.context
    }

    const parts = token.split(".")
    const [headerPart, payloadPart, signaturePart] = parts
    if (parts.length !== 3 || !headerPart || !payloadPart || signaturePart === undefined) return "MALFORMED_CREDENTIAL"
    const header = headers.get(headerPart) ?? parseHeader(headerPart, payloadPart, issuer)
    if (typeof header === "string") return header
    const key = await keySet.find(header.kid)
    if (typeof key === "string") return key
    const signature = decodeBase64url(signaturePart)
    if (signature?.length !== 64) return "SIGNATURE_INVALID"
    const signed = encoder.encode(token.slice(0, headerPart.length + 1 + payloadPart.length))
    if (!(await key.verify(signature, signed))) return "SIGNATURE_INVALID"
    if (headers.size < maxHeaders) headers.set(headerPart, header)

    const context = parsePayload(payloadPart, options)
    if (typeof context !== "string" && options.cacheSize > 0) {
      for (const oldest of verified.keys()) {
        if (verified.size < options.cacheSize) break
        verified.delete(oldest)
      }
      verified.set(digest, { context, kid: header.kid })
    }
    return context
  }
}

/** Names in a header that change how a token is to be read or with which key: our issuer writes none of them. */
const forbidden = ["crit", "b64", "jku", "jwk", "x5u", "x5c", "zip"]

function parseHeader(part: string, payloadPart: string, issuer: string): Header | Reason {
  const decoded = decodeObject(part)
  if (decoded === undefined || hasDuplicateNames(decoded.text)) return "MALFORMED_CREDENTIAL"
  if (forbidden.some((name) => Object.hasOwn(decoded.object, name))) return "MALFORMED_CREDENTIAL"
  const { alg, typ, kid } = decoded.object
  if (alg !== "ES256") return providerTokenOr("ALG_NOT_ALLOWED", decoded.object, payloadPart, issuer)
  if (typ !== "at+jwt") return providerTokenOr("TYP_NOT_ALLOWED", decoded.object, payloadPart, issuer)
  // The shape of every kid that we publish; nothing else reaches the key set.
  return typeof kid === "string" && /^[A-Za-z0-9_-]{1,128}$/.test(kid) ? { kid } : "KEY_UNKNOWN"
}

const providerAlgorithms: readonly unknown[] = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]

/** Tells a developer that it sent a provider's ID token. Nothing is decided by it: the token is refused either way. */
function providerTokenOr(
  reason: Reason,
  header: Readonly<Record<string, unknown>>,
  payloadPart: string,
  issuer: string,
): Reason {
  if ((header.typ !== undefined && header.typ !== "JWT") || !providerAlgorithms.includes(header.alg)) return reason
  const iss = decodeObject(payloadPart)?.object.iss
  return typeof iss === "string" && iss !== issuer ? "PROVIDER_TOKEN_NOT_ACCEPTED" : reason
}

function parsePayload(part: string, { issuer, audience, clock }: VerifierOptions): AuthContext | Reason {
  const payload = decodeObject(part)?.object
  if (payload === undefined) return "MALFORMED_CREDENTIAL"
  if (payload.iss !== issuer) return "ISSUER_MISMATCH"
  if (audience !== null && payload.aud !== audience) return "AUDIENCE_MISMATCH"
  const late = untimely(payload, clock.nowMs())
  if (late !== undefined) return late
  const claims = parseClaims(payload)
  return typeof claims === "string" ? claims : contextOf(claims, payload)
}

/** Whether it is past `exp`, or before `nbf` or `iat`. What is no number is left to parseClaims. */
function untimely(claims: Readonly<Record<string, unknown>>, nowMs: number): Reason | undefined {
  const now = nowMs / 1_000
  const { exp, nbf, iat } = claims
  if (typeof exp === "number" && exp + skewSeconds <= now) return "TOKEN_EXPIRED"
  if (typeof nbf === "number" && nbf > now + skewSeconds) return "TOKEN_NOT_YET_VALID"
  if (typeof iat === "number" && iat > now + skewSeconds) return "TOKEN_NOT_YET_VALID"
  return undefined
}
