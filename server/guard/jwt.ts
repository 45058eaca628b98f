// Verifies a JWT of one type, in the order in which RFC 8725's attacks are cheapest to refuse.
import type { Reason } from "@signet/kernel/errors"
import type { Clock } from "@signet/kernel/ports"
import { skewSeconds } from "@signet/kernel/token/claims"
import type { KeySet } from "./key-set.ts"
import { decodeBase64url, decodeObject, hasDuplicateNames } from "./strict-json.ts"
import type { TokenCrypto } from "./token-crypto.ts"

const maxTokenLength = 8_192
const maxHeaders = 64
const encoder = new TextEncoder()

export type Json = Readonly<Record<string, unknown>>

export interface JwtOptions<Value extends object> {
  /** The one `typ` that is taken. */
  readonly typ: string
  readonly keySet: KeySet
  readonly crypto: TokenCrypto
  readonly clock: Clock
  /** How many verified tokens are remembered; 0 for none. */
  readonly cacheSize: number
  /** The longest text that is looked at; 8,192 where it is left out. */
  readonly maxLength?: number
  /** What the claims say, or why they are not taken; checks the times by `untimely`. Only verified claims come here. */
  readonly read: (payload: Json, nowMs: number) => Value | Reason | Promise<Value | Reason>
  /** What to tell of a header that is not taken; the reason itself where it is left out. */
  readonly tell?: (reason: Reason, header: Json, payloadPart: string) => Reason
}

/** What a token says, or why it is not taken. UNAVAILABLE: the keys could not be had. */
export type VerifyJwt<Value> = (token: string) => Promise<Value | Reason>

interface Header {
  readonly kid: string
}

interface Verified<Value> {
  readonly value: Value
  readonly payload: Json
  readonly kid: string
}

export function createJwtVerifier<Value extends object>(options: JwtOptions<Value>): VerifyJwt<Value> {
  const { clock, keySet, crypto, maxLength = maxTokenLength } = options
  // A key has one header, so the few that are in use are parsed once.
  const headers = new Map<string, Header>()
  const verified = new Map<string, Verified<Value>>()

  return async (token) => {
    if (token.length > maxLength) return "MALFORMED_CREDENTIAL"
    const digest = options.cacheSize > 0 ? await crypto.digest(token) : ""
    const known = verified.get(digest)
    if (known !== undefined) {
      const late = untimely(known.payload, clock.nowMs())
      if (late !== undefined) {
        verified.delete(digest)
        return late
      }
      // A key that was withdrawn takes its tokens with it.
      if (typeof (await keySet.find(known.kid)) !== "string") return known.value
    }

    const parts = token.split(".")
    const [headerPart, payloadPart, signaturePart] = parts
    if (parts.length !== 3 || !headerPart || !payloadPart || signaturePart === undefined) return "MALFORMED_CREDENTIAL"
    const header = headers.get(headerPart) ?? parseHeader(headerPart, payloadPart, options)
    if (typeof header === "string") return header
    const key = await keySet.find(header.kid)
    if (typeof key === "string") return key
    const signature = decodeBase64url(signaturePart)
    if (signature?.length !== 64) return "SIGNATURE_INVALID"
    const signed = new Uint8Array(encoder.encode(token.slice(0, headerPart.length + 1 + payloadPart.length)))
    if (!(await key.verify(signature, signed))) return "SIGNATURE_INVALID"
    if (headers.size < maxHeaders) headers.set(headerPart, header)

    const payload = decodeObject(payloadPart)?.object
    if (payload === undefined) return "MALFORMED_CREDENTIAL"
    const value = await options.read(payload, clock.nowMs())
    if (typeof value !== "string" && options.cacheSize > 0) {
      for (const oldest of verified.keys()) {
        if (verified.size < options.cacheSize) break
        verified.delete(oldest)
      }
      verified.set(digest, { value, payload, kid: header.kid })
    }
    return value
  }
}

/** Names in a header that change how a token is to be read or with which key: our issuer writes none of them. */
const forbidden = ["crit", "b64", "jku", "jwk", "x5u", "x5c", "zip"]

type Tells = Pick<JwtOptions<object>, "typ" | "tell">

function parseHeader(part: string, payloadPart: string, { typ: expected, tell }: Tells): Header | Reason {
  const decoded = decodeObject(part)
  if (decoded === undefined || hasDuplicateNames(decoded.text)) return "MALFORMED_CREDENTIAL"
  if (forbidden.some((name) => Object.hasOwn(decoded.object, name))) return "MALFORMED_CREDENTIAL"
  const { alg, typ, kid } = decoded.object
  const refuse = (reason: Reason): Reason => tell?.(reason, decoded.object, payloadPart) ?? reason
  if (alg !== "ES256") return refuse("ALG_NOT_ALLOWED")
  if (typ !== expected) return refuse("TYP_NOT_ALLOWED")
  // The shape of every kid that we publish; nothing else reaches the key set.
  return typeof kid === "string" && /^[A-Za-z0-9_-]{1,128}$/.test(kid) ? { kid } : "KEY_UNKNOWN"
}

/** Whether it is past `exp`, or before `nbf` or `iat`. What is no number is left to who reads the claims. */
export function untimely(claims: Json, nowMs: number): Reason | undefined {
  const now = nowMs / 1_000
  const { exp, nbf, iat } = claims
  if (typeof exp === "number" && exp + skewSeconds <= now) return "TOKEN_EXPIRED"
  if (typeof nbf === "number" && nbf > now + skewSeconds) return "TOKEN_NOT_YET_VALID"
  if (typeof iat === "number" && iat > now + skewSeconds) return "TOKEN_NOT_YET_VALID"
  return undefined
}
