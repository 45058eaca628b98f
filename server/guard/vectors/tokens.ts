// Authorization headers, what is wrong with each, and the reason that every verifier gives: tokens.json.
import type { AuthContext } from "@signet/kernel/authz/context"
import type { Reason } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import { createVerifier } from "../access-token.ts"
import { encodeBase64url } from "../base64url.ts"
import { parseBearer } from "../bearer.ts"
import { createLocalKeySet } from "../key-set.ts"
import { nodeTokenCrypto } from "../node/token-crypto.ts"
import { encode, ids } from "../testing/issuer.ts"
import { baseClaims } from "./build.ts"
import { accessKey, jwt, strangerKey, vectorKey } from "./signer.ts"
import { now } from "./situations.ts"
import { badHeaders } from "./token-headers.ts"

export interface TokenCase {
  readonly name: string
  /** As sent; null for none. */
  readonly authorization: string | null
  readonly expected: { readonly reason: Reason } | { readonly context: JsonContext }
}

/** One verifier, asked again and again, that remembers what it verified. */
export interface TokenSequence {
  readonly name: string
  readonly steps: readonly {
    readonly now: number
    readonly authorization: string
    /** The reason, or "accepted". */
    readonly expected: Reason | "accepted"
  }[]
}

/** An AuthContext in JSON: sets are lists, the claims are left out. */
export type JsonContext = Readonly<Record<string, unknown>>

export const issuer = "https://auth.example"
export const audience = "svc-notes"

const head = { alg: "ES256", typ: "at+jwt", kid: "key-1" }
const bearer = (token: string) => `Bearer ${token}`
/** A token with claims changed; undefined leaves one out, null is null. */
export const tokenWith = (change: object = {}, header: object = {}): string =>
  jwt(accessKey, "at+jwt", { ...baseClaims(), ...change }, header)
const claimed = (change: object) => bearer(tokenWith(change))
/** A token whose payload is this text. */
const payload = (text: string) => bearer(accessKey.signParts(encode(head), encode(text)))
const payloadText = (change: object) => JSON.stringify({ ...baseClaims(), ...change })

const actor = { sub: ids.service, principal_type: "service", client_id: "svc-mail" }
const onBehalf = { gty: "on_behalf_of", sid: undefined, osid: ids.session, job_id: "job-1", act: actor }
const service = {
  sub: ids.service,
  principal_type: "service",
  gty: "client_credentials",
  client_id: "svc-mail",
  sid: undefined,
  identity_id: undefined,
  auth_time: undefined,
  amr: [],
}
const pat = { gty: "pat", sid: undefined, cred_id: "pac_1", auth_time: undefined }
const chain = (depth: number): object => (depth === 1 ? actor : { ...actor, act: chain(depth - 1) })
const context = newId("ctx", 1, new Uint8Array(10))
const device = newId("dev", 1, new Uint8Array(10))

const good = tokenWith()
const [goodHeader = "", goodPayload = "", goodSignature = ""] = good.split(".")
const signedAs = (signature: Uint8Array | string) =>
  bearer(`${goodHeader}.${goodPayload}.${typeof signature === "string" ? signature : encodeBase64url(signature)}`)

/** A token of exactly so many characters. Base64 skips lengths, so the header may have to be longer, too. */
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

/** The last character with a bit set that no byte has. */
function withStrayBits(part: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
  if (part.length % 4 === 0) throw new Error("no bit is left over")
  return part.slice(0, -1) + alphabet[alphabet.indexOf(part.slice(-1)) + 1]
}

/** A payload whose text is as long as leaves bits over. */
const unevenPayload = [0, 1, 2]
  .map((pad) => encode({ ...baseClaims(), pad: "x".repeat(pad) }))
  .find((part) => part.length % 4 !== 0)

const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const bytes32 = (number: bigint) => Buffer.from(number.toString(16).padStart(64, "0"), "hex")
const rOf = (signature: Uint8Array) => signature.subarray(0, 32)
const sOf = (signature: Uint8Array) => signature.subarray(32)
const signature = accessKey.signature(`${goodHeader}.${goodPayload}`)
const otherS = bytes32(order - BigInt(`0x${Buffer.from(sOf(signature)).toString("hex")}`))
/** SEQUENCE of two INTEGERs. */
function der(raw: Uint8Array): Uint8Array {
  const integer = (bytes: Uint8Array) => {
    const positive = (bytes[0] ?? 0) > 127 ? [0, ...bytes] : [...bytes]
    return [2, positive.length, ...positive]
  }
  const both = [...integer(rOf(raw)), ...integer(sOf(raw))]
  return new Uint8Array([48, both.length, ...both])
}

const ok = "accepted"
type Row = readonly [name: string, authorization: string | null, expected: Reason | typeof ok]

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

const malformed: readonly (readonly [name: string, change: object])[] = [
  ["no app_id", { app_id: undefined }],
  ["app_id of null", { app_id: null }],
  ["a tenant for an app", { app_id: ids.tenant }],
  ["an app_id in capitals", { app_id: ids.app.toUpperCase() }],
  ["an app_id with a line end", { app_id: `${ids.app}\n` }],
  ["no principal_type", { principal_type: undefined }],
  ["another principal_type", { principal_type: "agent" }],
  ["no sub", { sub: undefined }],
  ["a sub that is an identity", { sub: ids.identity }],
  ["an app for a tenant", { tenant_id: ids.app }],
  ["tenant_id of null", { tenant_id: null }],
  ["an empty tenant_id", { tenant_id: "" }],
  ["context_id of a number", { context_id: 1 }],
  ["an identity that is none", { identity_id: "idn_1" }],
  ["a session that is none", { sid: "ses_1" }],
  ["a device that is none", { did: "phone" }],
  ["did of null", { did: null }],
  ["a user without an identity", { identity_id: undefined }],
  ["a service with an identity", { ...service, identity_id: ids.identity }],
  ["a service with a session", { ...service, sid: ids.session }],
  ["a user with a service's grant", { gty: "client_credentials", sid: undefined }],
  ["a service with a user's grant", { ...service, gty: "pat" }],
  ["a session's grant without its session", { sid: undefined }],
  ["a session beside another grant", { gty: "pat" }],
  ["no gty", { gty: undefined }],
  ["another gty", { gty: "password" }],
  ["another gty without a session", { gty: "password", sid: undefined }],
  ["a device beside another grant", { ...pat, did: device }],
  ["no jti", { jti: undefined }],
  ["an empty jti", { jti: "" }],
  ["no client_id", { client_id: undefined }],
  ["client_id of a number", { client_id: 1 }],
  ["an empty cred_id", { cred_id: "" }],
  ["cred_id of null", { cred_id: null }],
  ["scopes as text", { scp: "notes.read" }],
  ["no scopes", { scp: undefined }],
  ["an empty scope", { scp: [""] }],
  ["a scope that is a number", { scp: ["notes.read", 1] }],
  ["no amr", { amr: undefined }],
  ["no perm_ver", { perm_ver: undefined }],
  ["neither perm_ver nor pol_ver", { perm_ver: undefined, pol_ver: undefined }],
  ["a negative perm_ver", { perm_ver: -1 }],
  ["a negative perm_ver, and no pol_ver", { perm_ver: -1, pol_ver: undefined }],
  ["perm_ver beyond what a double counts", { perm_ver: 2 ** 53 }],
  ["perm_ver of true", { perm_ver: true }],
  ["pol_ver above perm_ver", { perm_ver: 1, pol_ver: 2 }],
  ["pol_ver of null", { pol_ver: null }],
  ["auth_time as text", { auth_time: String(now) }],
  ["auth_time of null", { auth_time: null }],
  ["a session with an actor", { act: actor, job_id: "job-1" }],
  ["a session with an actor and no job", { act: actor }],
  ["a session with a job", { job_id: "job-1" }],
  ["a session with another's session", { osid: ids.session }],
  ["a delegation without an actor", { ...onBehalf, act: undefined }],
  ["a delegation without a job", { ...onBehalf, job_id: undefined }],
  ["a delegation of a session that is none", { ...onBehalf, osid: "ses_1" }],
  ["a delegation with an empty job", { ...onBehalf, job_id: "" }],
  ["an actor of null", { ...onBehalf, act: null }],
  ["an actor in a list", { ...onBehalf, act: [actor] }],
  ["an actor that is a user", { ...onBehalf, act: { ...actor, principal_type: "user" } }],
  ["an actor without a client", { ...onBehalf, act: { ...actor, client_id: undefined } }],
  ["an actor that is no principal", { ...onBehalf, act: { ...actor, sub: "svc-mail" } }],
  ["an actor whose actor is malformed", { ...onBehalf, act: { ...actor, act: {} } }],
]

const shapesOfClaims: readonly Row[] = [
  ...malformed.map(([name, change]): Row => [name, claimed(change), "MALFORMED_CREDENTIAL"]),
  ["four actors", claimed({ ...onBehalf, act: chain(4) }), "DELEGATION_CHAIN_TOO_DEEP"],
  ["four actors for a session: the chain is told", claimed({ act: chain(4) }), "DELEGATION_CHAIN_TOO_DEEP"],
  [
    "four actors and no principal_type",
    claimed({ ...onBehalf, act: chain(4), principal_type: "x" }),
    "MALFORMED_CREDENTIAL",
  ],
]

const taken: readonly Row[] = [
  ["a user's", bearer(good), ok],
  ["a user's of no tenant", claimed({ tenant_id: undefined }), ok],
  ["a user's of a context", claimed({ context_id: context }), ok],
  ["a user's with a device", claimed({ did: device }), ok],
  ["a user's without a time of sign-in", claimed({ auth_time: undefined }), ok],
  ["a user's with a credential", claimed({ cred_id: "pac_1" }), ok],
  ["a user's with no scope", claimed({ scp: [] }), ok],
  ["a user's whose versions are not told apart", claimed({ perm_ver: 9, pol_ver: undefined }), ok],
  ["a user's of versions 4 and 5", claimed({ perm_ver: 9, pol_ver: 5 }), ok],
  ["a user's with claims that nobody knows", claimed({ roles: ["admin"], news: { deep: [1, null, "x"] } }), ok],
  ["a service's", claimed(service), ok],
  ["a personal access token's", claimed(pat), ok],
  ["a delegated one", claimed(onBehalf), ok],
  ["a delegated one of a standing delegation", claimed({ ...onBehalf, osid: undefined, cred_id: "dlg_1" }), ok],
  ["a delegated one with three actors", claimed({ ...onBehalf, act: { ...chain(3), client_id: "svc-last" } }), ok],
]

export const jwks = [
  accessKey.jwk,
  { ...vectorKey(5, "key-384").jwk, crv: "P-384" },
  { ...vectorKey(6, "key-k1").jwk, crv: "secp256k1" },
  { ...vectorKey(7, "key-enc").jwk, use: "enc" },
  { ...vectorKey(8, "key-es512").jwk, alg: "ES512" },
  { kty: "RSA", n: "0vx7", e: "AQAB", kid: "key-rsa", alg: "RS256", use: "sig" },
]

/** Reads the context of a token that is accepted, as the guard here sees it; decisions about it are written above. */
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
  return JSON.parse(JSON.stringify(known, (_, value: unknown) => (value instanceof Set ? [...value] : value)))
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
