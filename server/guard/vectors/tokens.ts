// Builds tokens.json: Authorization headers and the reason that every verifier must return.
import { type AuthContext, notLoaded } from "@signet/kernel/authz/context"
import type { Reason } from "@signet/kernel/errors"
import { createVerifier } from "../access-token.ts"
import { encodeBase64url } from "../base64url.ts"
import { parseBearer } from "../bearer.ts"
import { createLocalKeySet } from "../key-set.ts"
import { nodeTokenCrypto } from "../node/token-crypto.ts"
import { encode } from "../testing/issuer.ts"
import { baseClaims } from "./build.ts"
import { accessKey, jwt, strangerKey, vectorKey } from "./signer.ts"
import { now } from "./situations.ts"
import { shapesOfClaims, taken } from "./token-claims.ts"
import { badHeaders } from "./token-headers.ts"
import {
  audience,
  bearer,
  claimed,
  head,
  issuer,
  ok,
  payload,
  payloadText,
  type Row,
  tokenWith,
} from "./token-parts.ts"

interface TokenCase {
  readonly name: string
  /** The header as sent; null for none. */
  readonly authorization: string | null
  readonly expected: { readonly reason: Reason } | { readonly context: JsonContext }
}

/** Requests to one verifier that caches verified tokens. */
interface TokenSequence {
  readonly name: string
  readonly steps: readonly {
    readonly now: number
    readonly authorization: string
    /** The reason, or "accepted". */
    readonly expected: Reason | "accepted"
  }[]
}

/** An AuthContext as JSON: sets are lists, and the raw claims are omitted. */
type JsonContext = Readonly<Record<string, unknown>>

const good = tokenWith()
const [goodHeader = "", goodPayload = "", goodSignature = ""] = good.split(".")
const signedAs = (signature: Uint8Array | string) =>
  bearer(`${goodHeader}.${goodPayload}.${typeof signature === "string" ? signature : encodeBase64url(signature)}`)

/** A token of exactly this length. Base64 cannot produce every length, so the header may be extended, too. */
function tokenOfLength(length: number): string {
  for (const note of ["", "x"]) {
    for (let pad = length / 2; ; pad++) {
      const token = tokenWith({ pad: "x".repeat(pad) }, { note })
      if (token.length === length) return token
      if (token.length > length) break
    }
  }
  throw new Error(`no token has ${length} characters`)
}

/** Sets an unused bit of the last character. */
function withStrayBits(part: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
  if (part.length % 4 === 0) throw new Error("no bit is left over")
  return part.slice(0, -1) + alphabet[alphabet.indexOf(part.slice(-1)) + 1]
}

/** A payload whose encoding has unused bits. */
const unevenPayload = [0, 1, 2]
  .map((pad) => encode({ ...baseClaims(), pad: "x".repeat(pad) }))
  .find((part) => part.length % 4 !== 0)

const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const bytes32 = (number: bigint) => Buffer.from(number.toString(16).padStart(64, "0"), "hex")
const rOf = (signature: Uint8Array) => signature.subarray(0, 32)
const sOf = (signature: Uint8Array) => signature.subarray(32)
const signature = accessKey.signature(`${goodHeader}.${goodPayload}`)
const otherS = bytes32(order - BigInt(`0x${Buffer.from(sOf(signature)).toString("hex")}`))
/** DER encoding: a SEQUENCE of two INTEGERs. */
function der(raw: Uint8Array): Uint8Array {
  const integer = (bytes: Uint8Array) => {
    const positive = (bytes[0] ?? 0) > 127 ? [0, ...bytes] : [...bytes]
    return [2, positive.length, ...positive]
  }
  const both = [...integer(rOf(raw)), ...integer(sOf(raw))]
  return new Uint8Array([48, both.length, ...both])
}

const credentials: readonly Row[] = [
  ["no header", null, "NO_CREDENTIAL"],
  ["an empty header", "", "MALFORMED_CREDENTIAL"],
  ["another scheme", "Basic abc", "MALFORMED_CREDENTIAL"],
  ["a scheme and nothing else", "Bearer", "MALFORMED_CREDENTIAL"],
  ["a token without its scheme", good, "MALFORMED_CREDENTIAL"],
  ["the scheme in lower case", `bearer ${good}`, ok],
  ["two spaces", `Bearer  ${good}`, ok],
  ["a tab for the space", `Bearer\t${good}`, "MALFORMED_CREDENTIAL"],
  ["a space after it", `${bearer(good)} `, "MALFORMED_CREDENTIAL"],
  ["a line end after it", `${bearer(good)}\n`, "MALFORMED_CREDENTIAL"],
  ["a space before the scheme", ` ${bearer(good)}`, "MALFORMED_CREDENTIAL"],
  ["two tokens", `${bearer(good)}, ${bearer(good)}`, "MALFORMED_CREDENTIAL"],
  ["a personal access token", bearer(`sgpat_${"0".repeat(50)}`), "PAT_NOT_BEARER"],
  ["a refresh token", bearer(`sgrt_${"0".repeat(50)}`), "REFRESH_TOKEN_NOT_BEARER"],
]

const shapes: readonly Row[] = [
  ["8,192 characters", bearer(tokenOfLength(8_192)), ok],
  ["8,193 characters", bearer(`${tokenOfLength(8_192)}A`), "MALFORMED_CREDENTIAL"],
  ["no segments", bearer("abc"), "MALFORMED_CREDENTIAL"],
  ["two segments", bearer(`${goodHeader}.${goodPayload}`), "MALFORMED_CREDENTIAL"],
  ["four segments", bearer(`${good}.x`), "MALFORMED_CREDENTIAL"],
  ["an empty header segment", bearer(`.${goodPayload}.${goodSignature}`), "MALFORMED_CREDENTIAL"],
  ["an empty payload segment", bearer(`${goodHeader}..${goodSignature}`), "MALFORMED_CREDENTIAL"],
  ["a header that is not base64url", bearer(`a+/b.${goodPayload}.${goodSignature}`), "MALFORMED_CREDENTIAL"],
  ["a header of a length that base64 has not", bearer(`abcde.${goodPayload}.${goodSignature}`), "MALFORMED_CREDENTIAL"],
]

const signatures: readonly Row[] = [
  ["no signature", signedAs(""), "SIGNATURE_INVALID"],
  ["a stranger's signature", bearer(jwt(strangerKey, "at+jwt", baseClaims())), "SIGNATURE_INVALID"],
  [
    "another payload",
    bearer(`${goodHeader}.${encode(payloadText({ scp: ["a"] }))}.${goodSignature}`),
    "SIGNATURE_INVALID",
  ],
  ["another header", bearer(`${encode({ ...head, x: 1 })}.${goodPayload}.${goodSignature}`), "SIGNATURE_INVALID"],
  ["a signature with padding", signedAs(`${goodSignature}==`), "SIGNATURE_INVALID"],
  ["a signature with a bit too many", signedAs(withStrayBits(goodSignature)), "SIGNATURE_INVALID"],
  ["a signature that is not base64url", signedAs(`+/${goodSignature.slice(2)}`), "SIGNATURE_INVALID"],
  ["63 bytes of it", signedAs(signature.subarray(0, 63)), "SIGNATURE_INVALID"],
  ["65 bytes", signedAs(new Uint8Array([...signature, 0])), "SIGNATURE_INVALID"],
  ["65 bytes, a zero before each number", signedAs(new Uint8Array([0, ...signature])), "SIGNATURE_INVALID"],
  [
    "65 bytes, a zero before s",
    signedAs(new Uint8Array([...rOf(signature), 0, ...sOf(signature)])),
    "SIGNATURE_INVALID",
  ],
  ["DER", signedAs(der(signature)), "SIGNATURE_INVALID"],
  ["64 zeros (CVE-2022-21449)", signedAs(new Uint8Array(64)), "SIGNATURE_INVALID"],
  ["r of zero", signedAs(new Uint8Array([...new Uint8Array(32), ...sOf(signature)])), "SIGNATURE_INVALID"],
  ["s of the curve's order", signedAs(new Uint8Array([...rOf(signature), ...bytes32(order)])), "SIGNATURE_INVALID"],
  ["r and s exchanged", signedAs(new Uint8Array([...sOf(signature), ...rOf(signature)])), "SIGNATURE_INVALID"],
  ["the other s, which ECDSA takes as well", signedAs(new Uint8Array([...rOf(signature), ...otherS])), ok],
]

const payloads: readonly Row[] = [
  ["a payload that is no JSON", payload("{"), "MALFORMED_CREDENTIAL"],
  ["a payload that is a list", payload("[]"), "MALFORMED_CREDENTIAL"],
  ["a payload that is null", payload("null"), "MALFORMED_CREDENTIAL"],
  ["a payload with something after it", payload(`${payloadText({})}{}`), "MALFORMED_CREDENTIAL"],
  ["a payload after a byte order mark", payload(`\ufeff${payloadText({})}`), "MALFORMED_CREDENTIAL"],
  ["a payload with NaN", payload(payloadText({ x: 1 }).replace('"x":1', '"x":NaN')), "MALFORMED_CREDENTIAL"],
  ["a payload with a comma too many", payload(payloadText({}).replace("}", ",}")), "MALFORMED_CREDENTIAL"],
  [
    "a payload of invalid UTF-8",
    bearer(accessKey.signParts(encode(head), encodeBase64url(Buffer.from(payloadText({ pad: "\u00e9" }), "latin1")))),
    "MALFORMED_CREDENTIAL",
  ],
  [
    "a payload with a bit too many",
    bearer(accessKey.signParts(encode(head), withStrayBits(unevenPayload ?? ""))),
    "MALFORMED_CREDENTIAL",
  ],
]

const issuerAndAudience: readonly Row[] = [
  ["another issuer", claimed({ iss: "https://other.example" }), "ISSUER_MISMATCH"],
  ["the issuer with a slash", claimed({ iss: `${issuer}/` }), "ISSUER_MISMATCH"],
  ["the issuer in a list", claimed({ iss: [issuer] }), "ISSUER_MISMATCH"],
  ["no issuer", claimed({ iss: undefined }), "ISSUER_MISMATCH"],
  ["iss in other capitals", claimed({ iss: undefined, ISS: issuer }), "ISSUER_MISMATCH"],
  ["another audience", claimed({ aud: "svc-mail" }), "AUDIENCE_MISMATCH"],
  ["the audience in a list", claimed({ aud: [audience] }), "AUDIENCE_MISMATCH"],
  ["two audiences", claimed({ aud: [audience, "svc-mail"] }), "AUDIENCE_MISMATCH"],
  ["the audience in other capitals", claimed({ aud: "SVC-NOTES" }), "AUDIENCE_MISMATCH"],
  ["the audience and a space", claimed({ aud: `${audience} ` }), "AUDIENCE_MISMATCH"],
  ["no audience", claimed({ aud: undefined }), "AUDIENCE_MISMATCH"],
  ["wrong in both: the issuer is told", claimed({ iss: "x", aud: "x" }), "ISSUER_MISMATCH"],
]

const at = (seconds: number) => ({ iat: now + seconds, nbf: now + seconds })
const times: readonly Row[] = [
  ["expired 29 s ago, within the skew", claimed({ ...at(-629), exp: now - 29 }), ok],
  ["expired 30 s ago", claimed({ ...at(-630), exp: now - 30 }), "TOKEN_EXPIRED"],
  ["valid in 30 s, within the skew", claimed({ ...at(30), exp: now + 600 }), ok],
  ["nbf in 31 s", claimed({ nbf: now + 31 }), "TOKEN_NOT_YET_VALID"],
  ["iat in 31 s", claimed({ iat: now + 31 }), "TOKEN_NOT_YET_VALID"],
  ["a life of 900 s", claimed({ exp: now + 900 }), ok],
  ["a life of 901 s", claimed({ exp: now + 901 }), "TOKEN_EXPIRED"],
  ["no exp", claimed({ exp: undefined }), "TOKEN_EXPIRED"],
  ["exp of null", claimed({ exp: null }), "TOKEN_EXPIRED"],
  ["exp as text", claimed({ exp: String(now + 600) }), "TOKEN_EXPIRED"],
  ["exp of true", claimed({ exp: true }), "TOKEN_EXPIRED"],
  ["exp with a fraction", claimed({ exp: now + 0.5 }), "TOKEN_EXPIRED"],
  [
    "exp beyond what a double counts",
    payload(payloadText({ exp: 1 }).replace('"exp":1', '"exp":9007199254740993')),
    "TOKEN_EXPIRED",
  ],
  [
    "exp as a whole number with an exponent",
    payload(payloadText({ exp: 1 }).replace('"exp":1', '"exp":1.7000006e9')),
    ok,
  ],
  ["no nbf", claimed({ nbf: undefined }), "TOKEN_NOT_YET_VALID"],
  ["nbf of null", claimed({ nbf: null }), "TOKEN_NOT_YET_VALID"],
  ["no iat", claimed({ iat: undefined }), "TOKEN_NOT_YET_VALID"],
  ["iat with a fraction", claimed({ iat: now - 0.5 }), "TOKEN_NOT_YET_VALID"],
  ["iat below zero", claimed({ iat: -1 }), "TOKEN_NOT_YET_VALID"],
  ["expired and of another audience: the audience is told", claimed({ exp: 1, aud: "x" }), "AUDIENCE_MISMATCH"],
  ["expired and without an app: the time is told", claimed({ exp: 1, app_id: undefined }), "TOKEN_EXPIRED"],
]

export const jwks = [
  accessKey.jwk,
  { ...vectorKey(5, "key-384").jwk, crv: "P-384" },
  { ...vectorKey(6, "key-k1").jwk, crv: "secp256k1" },
  { ...vectorKey(7, "key-enc").jwk, use: "enc" },
  { ...vectorKey(8, "key-es512").jwk, alg: "ES512" },
  { kty: "RSA", n: "0vx7", e: "AQAB", kid: "key-rsa", alg: "RS256", use: "sig" },
]

/** The context of an accepted token, as this guard reads it. */
async function contextIn(authorization: string | null): Promise<JsonContext> {
  const parsed = parseBearer(authorization)
  if (typeof parsed === "string") throw new Error(parsed)
  const verify = createVerifier({
    issuer,
    audience,
    keySet: createLocalKeySet({ jwks: () => [accessKey.jwk] }, nodeTokenCrypto),
    crypto: nodeTokenCrypto,
    clock: { nowMs: () => now * 1_000 },
    cacheSize: 0,
  })
  const found = await verify(parsed.token)
  if (typeof found === "string") throw new Error(found)
  return jsonContext(found)
}

export function jsonContext({ claims: _, ...known }: AuthContext): JsonContext {
  const plain = (_: string, value: unknown) => (value instanceof Set ? [...value] : value === notLoaded ? null : value)
  return JSON.parse(JSON.stringify(known, plain))
}

const rows: readonly Row[] = [
  ...credentials,
  ...shapes,
  ...badHeaders(accessKey, baseClaims(), { issuer }),
  ...signatures,
  ...payloads,
  ...issuerAndAudience,
  ...times,
  ...shapesOfClaims,
  ...taken,
]

const sequences: readonly TokenSequence[] = [
  {
    name: "a verified token is remembered, and its times are looked at again",
    steps: [
      { now, authorization: bearer(good), expected: ok },
      { now: now + 629, authorization: bearer(good), expected: ok },
      { now: now + 630, authorization: bearer(good), expected: "TOKEN_EXPIRED" },
      { now: now + 631, authorization: bearer(good), expected: "TOKEN_EXPIRED" },
    ],
  },
  {
    name: "what is remembered is the whole token",
    steps: [
      { now, authorization: bearer(good), expected: ok },
      { now, authorization: signedAs(new Uint8Array(64).fill(7)), expected: "SIGNATURE_INVALID" },
      { now, authorization: signedAs(""), expected: "SIGNATURE_INVALID" },
      { now, authorization: bearer(good), expected: ok },
    ],
  },
  {
    name: "a refusal is not remembered",
    steps: [
      { now: now - 31, authorization: bearer(good), expected: "TOKEN_NOT_YET_VALID" },
      { now: now - 30, authorization: bearer(good), expected: ok },
    ],
  },
]

export async function tokenVectors() {
  const cases: TokenCase[] = []
  for (const [name, authorization, expected] of rows) {
    const outcome = expected === ok ? { context: await contextIn(authorization) } : { reason: expected }
    cases.push({ name, authorization, expected: outcome })
  }
  return { now, issuer, audience, jwks: { keys: jwks }, cases, sequences }
}
