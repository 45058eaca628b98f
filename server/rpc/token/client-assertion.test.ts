import fc from "fast-check"
import { expect, test } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import { parseAssertion } from "./client-assertion.ts"

const numRuns = effort(1_000, 20_000, 100_000)
const expected = { issuer: "https://auth.example", clientId: "", nowMs: 1_000_000 }
const encode = (part: unknown) =>
  Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url")
const signature = Buffer.alloc(64).toString("base64url")
const header = { alg: "ES256", kid: "k" }
const payload = { iss: "c", sub: "c", aud: "https://auth.example/auth/token", jti: "j", iat: 1_000, exp: 1_060 }

test("an assertion is remembered for as long as it could be accepted", () => {
  const parsed = parseAssertion(`${encode(header)}.${encode(payload)}.${signature}`, expected)
  expect(parsed).toMatchObject({ clientId: "c", kid: "k", jti: "j", expiresAtMs: 1_090_000 })
})

test.each([
  ["a name twice in the header", `{"alg":"none","alg":"ES256"}`, payload],
  ["a name twice in the claims", header, `{"iss":"x",${JSON.stringify(payload).slice(1)}`],
])("%s is not read in either way", (_, first, second) => {
  expect(parseAssertion(`${encode(first)}.${encode(second)}.${signature}`, expected)).toBeUndefined()
})

test.each<[string, object, boolean]>([
  ["lives for a minute", { exp: 1_060 }, true],
  ["lives longer", { exp: 1_061 }, false],
  ["is accepted within the clock skew", { iat: 911, exp: 971 }, true],
  ["is refused beyond the clock skew", { iat: 910, exp: 970 }, false],
  ["may be issued ahead within the clock skew", { iat: 1_030, exp: 1_060 }, true],
  ["is refused further ahead", { iat: 1_031, exp: 1_060 }, false],
  ["may have an nbf within the clock skew", { nbf: 1_030 }, true],
  ["has an nbf beyond the clock skew", { nbf: 1_031 }, false],
  ["has an nbf that is no number", { nbf: "1000" }, false],
  ["has an exp that is no number", { exp: "1060" }, false],
  ["has an iat that is no number", { iat: "1000" }, false],
  ["has no exp", { exp: undefined }, false],
  ["has no iat", { iat: undefined }, false],
  ["is for the issuer", { aud: "https://auth.example" }, true],
  [
    "is for the issuer and its token endpoint",
    { aud: ["https://auth.example", "https://auth.example/auth/token"] },
    true,
  ],
  ["is for nobody", { aud: [] }, false],
])("an assertion %s", (_, change, isTaken) => {
  const text = `${encode(header)}.${encode({ ...payload, ...change })}.${signature}`
  expect(parseAssertion(text, expected) !== undefined).toBe(isTaken)
})

test("an assertion need not name its key", () => {
  expect(parseAssertion(`${encode({ alg: "ES256" })}.${encode(payload)}.${signature}`, expected)?.kid).toBeUndefined()
  expect(parseAssertion(`${encode({ alg: "ES256" })}.${encode(payload)}.${signature}`, expected)).toBeDefined()
})

test.each<[string, string]>([
  ["another algorithm", `${encode({ ...header, alg: "none" })}.${encode(payload)}.${signature}`],
  ["a key of its own", `${encode({ ...header, jwk: {} })}.${encode(payload)}.${signature}`],
  ["four parts", `${encode(header)}.${encode(payload)}.${signature}.x`],
  ["no header", `.${encode(payload)}.${signature}`],
  ["no claims", `${encode(header)}..${signature}`],
  ["no signature", `${encode(header)}.${encode(payload)}.`],
  ["half a signature", `${encode(header)}.${encode(payload)}.${Buffer.alloc(32).toString("base64url")}`],
  ["a key id of another form", `${encode({ ...header, kid: "k k" })}.${encode(payload)}.${signature}`],
  ["a type of another token", `${encode({ ...header, typ: "at+jwt" })}.${encode(payload)}.${signature}`],
  ["an id of another form", `${encode(header)}.${encode({ ...payload, jti: "j j" })}.${signature}`],
  ["an issuer that is no text", `${encode(header)}.${encode({ ...payload, iss: 1, sub: 1 })}.${signature}`],
])("a text with %s is no assertion", (_, text) => {
  expect(parseAssertion(text, expected)).toBeUndefined()
})

test("an assertion must be for the client that the request names", () => {
  const text = `${encode({ ...header, typ: "JWT" })}.${encode(payload)}.${signature}`
  expect(parseAssertion(text, { ...expected, clientId: "c" })).toBeDefined()
  expect(parseAssertion(text, { ...expected, clientId: "d" })).toBeUndefined()
})

test("any text parses to an assertion or undefined, and never throws", () => {
  const part = fc.oneof(fc.string(), fc.json().map(encode), fc.constantFrom(encode(header), encode(payload), signature))
  fc.assert(
    fc.property(fc.array(part, { maxLength: 4 }), (parts) => {
      const parsed = parseAssertion(parts.join("."), expected)
      expect(parsed === undefined || parsed.signature.length === 64).toBe(true)
    }),
    { numRuns },
  )
})

test("any change of one claim is refused or changes nothing", () => {
  const value = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom(1_000, 1_060, "c", "j"))
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(payload)), value, (name, changed) => {
      const claims = { ...payload, [name]: changed }
      const parsed = parseAssertion(`${encode(header)}.${encode(claims)}.${signature}`, expected)
      if (parsed === undefined) return
      expect(claims.iss).toBe(claims.sub)
      expect([expected.issuer, payload.aud]).toEqual(expect.arrayContaining([claims.aud].flat()))
      expect(claims.exp - claims.iat).toBeLessThanOrEqual(60)
    }),
    { numRuns },
  )
})
