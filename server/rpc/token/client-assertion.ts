// private_key_jwt (RFC 7523 section 3, OpenID Connect Core section 9): a short-lived JWT for this issuer, signed by the
// client.
import { decodeBase64url, decodeObject, hasDuplicateNames } from "@signet/guard/strict-json"
import { skewSeconds } from "@signet/kernel/token/claims"
import { tokenEndpointOf } from "./server-metadata.ts"

/** The longest that an assertion may live, in seconds. */
const maxLifeSeconds = 60

/** An assertion with valid claims; its signature is not verified yet. */
export interface Assertion {
  clientId: string
  /** The `kid`; undefined when the header has none. */
  kid: string | undefined
  jti: string
  /** When the assertion expires and may be forgotten, in milliseconds since the Unix epoch. */
  expiresAtMs: number
  signature: Uint8Array<ArrayBuffer>
  signed: Uint8Array<ArrayBuffer>
}

/** Header parameters that change how the JWT is read or with which key it is verified. */
const forbidden = ["crit", "b64", "jku", "jwk", "x5u", "x5c", "zip"]

/** @param expected.clientId The client that the request names; empty for none. */
export function parseAssertion(
  text: string,
  expected: { issuer: string; clientId: string; nowMs: number },
): Assertion | undefined {
  const [headerPart, payloadPart, signaturePart, ...rest] = text.split(".")
  if (!headerPart || !payloadPart || !signaturePart || rest.length > 0) return undefined
  const header = strictObject(headerPart)
  const payload = strictObject(payloadPart)
  const signature = decodeBase64url(signaturePart)
  if (header === undefined || payload === undefined || signature?.length !== 64) return undefined
  if (header.alg !== "ES256" || forbidden.some((name) => Object.hasOwn(header, name))) return undefined
  if (header.typ !== undefined && !isText(header.typ, /^(jwt|client-authentication\+jwt)$/i)) return undefined
  const { kid } = header
  if (kid !== undefined && !isText(kid, /^[A-Za-z0-9_-]{1,128}$/)) return undefined

  const { iss, sub, jti, exp } = payload
  if (!isText(iss, /^.{1,128}$/) || sub !== iss || !isText(jti, /^[\x21-\x7e]{1,128}$/)) return undefined
  if (expected.clientId !== "" && expected.clientId !== iss) return undefined
  if (!isForUs(payload.aud, expected.issuer) || !isTimely(payload, expected.nowMs / 1_000)) return undefined
  return {
    clientId: iss,
    kid,
    jti,
    expiresAtMs: (Number(exp) + skewSeconds) * 1_000,
    signature,
    signed: new TextEncoder().encode(`${headerPart}.${payloadPart}`),
  }
}

/** The client that an assertion names, valid or not; empty if it names none. */
export function claimedClientOf(text: string): string {
  const { iss } = strictObject(text.split(".")[1] ?? "") ?? {}
  return typeof iss === "string" ? iss : ""
}

type Json = Readonly<Record<string, unknown>>

function strictObject(part: string): Json | undefined {
  const decoded = decodeObject(part)
  return decoded === undefined || hasDuplicateNames(decoded.text) ? undefined : decoded.object
}

const isText = (value: unknown, pattern: RegExp): value is string => typeof value === "string" && pattern.test(value)

/** True if the only audience is this issuer: an assertion for two servers could be replayed at the other one. */
function isForUs(aud: unknown, issuer: string): boolean {
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  return audiences.length > 0 && audiences.every((each) => each === issuer || each === tokenEndpointOf(issuer))
}

function isTimely({ iat, nbf, exp }: Json, now: number): boolean {
  if (typeof exp !== "number" || typeof iat !== "number") return false
  if (exp - iat > maxLifeSeconds || exp + skewSeconds <= now || iat > now + skewSeconds) return false
  return nbf === undefined || (typeof nbf === "number" && nbf <= now + skewSeconds)
}
