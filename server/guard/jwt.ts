// Verifies JWTs of one type. The checks are ordered so that the attacks of RFC 8725 are refused at the lowest cost.
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

interface JwtOptions<Value extends object> {
  /** The accepted `typ`. */
  readonly typ: string
  readonly keySet: KeySet
  readonly crypto: TokenCrypto
  readonly clock: Clock
  /** Maximum number of verified tokens in memory; 0 for none. */
  readonly cacheSize: number
  /** Maximum token length in characters. 8,192. */
  readonly maxLength?: number
  /**
   * Interprets the claims or returns why they are rejected; checks times with `untimely`. Called only after
   * verification.
   */
  readonly read: (payload: Json, nowMs: number) => Value | Reason | Promise<Value | Reason>
  /** Replaces the reason for a rejected header. Default: the reason itself. */
  readonly mapReason?: (reason: Reason, header: Json, payloadPart: string) => Reason
}

/** Returns a token's content, or why it is rejected. UNAVAILABLE: the keys could not be fetched. */
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
  // A key has one header, so only a few headers are parsed, once each.
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
      // Tokens of a withdrawn key are no longer accepted.
      if (typeof (await keySet.find(known.kid)) !== "string") return known.value
    }

    const parts = token.split(".")
    const [headerPart, payloadPart, signaturePart = ""] = parts
    if (parts.length !== 3 || !headerPart || !payloadPart) return "MALFORMED_CREDENTIAL"
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

/** Header parameters that change how a token is read or which key verifies it. The issuer uses none of them. */
const forbidden = ["crit", "b64", "jku", "jwk", "x5u", "x5c", "zip"]

type HeaderOptions = Pick<JwtOptions<object>, "typ" | "mapReason">

function parseHeader(part: string, payloadPart: string, { typ: expected, mapReason }: HeaderOptions): Header | Reason {
  const decoded = decodeObject(part)
  if (decoded === undefined || hasDuplicateNames(decoded.text)) return "MALFORMED_CREDENTIAL"
  if (forbidden.some((name) => Object.hasOwn(decoded.object, name))) return "MALFORMED_CREDENTIAL"
  const { alg, typ, kid } = decoded.object
  const refuse = (reason: Reason): Reason => mapReason?.(reason, decoded.object, payloadPart) ?? reason
  if (alg !== "ES256") return refuse("ALG_NOT_ALLOWED")
  if (typ !== expected) return refuse("TYP_NOT_ALLOWED")
  // The pattern of every published kid. Other values do not reach the key set.
  return typeof kid === "string" && /^[A-Za-z0-9_-]{1,128}$/.test(kid) ? { kid } : "KEY_UNKNOWN"
}

/**
 * Returns the reason if the time is after `exp`, or before `nbf` or `iat`. Claims that are not numbers are ignored; the
 * reader of the claims checks them.
 */
export function untimely(claims: Json, nowMs: number): Reason | undefined {
  const now = nowMs / 1_000
  const { exp, nbf, iat } = claims
  if (typeof exp === "number" && exp + skewSeconds <= now) return "TOKEN_EXPIRED"
  if (typeof nbf === "number" && nbf > now + skewSeconds) return "TOKEN_NOT_YET_VALID"
  if (typeof iat === "number" && iat > now + skewSeconds) return "TOKEN_NOT_YET_VALID"
  return undefined
}
