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

test("an assertion is remembered for as long as it could be taken", () => {
  const parsed = parseAssertion(`${encode(header)}.${encode(payload)}.${signature}`, expected)
  expect(parsed).toMatchObject({ clientId: "c", kid: "k", jti: "j", expiresAtMs: 1_090_000 })
})

test.each([
  ["a name twice in the header", `{"alg":"none","alg":"ES256"}`, payload],
  ["a name twice in the claims", header, `{"iss":"x",${JSON.stringify(payload).slice(1)}`],
])("%s is not read in either way", (_, first, second) => {
  expect(parseAssertion(`${encode(first)}.${encode(second)}.${signature}`, expected)).toBeUndefined()
})

test("whatever is sent is an assertion or none, and never a fault", () => {
  const part = fc.oneof(fc.string(), fc.json().map(encode), fc.constantFrom(encode(header), encode(payload), signature))
  fc.assert(
    fc.property(fc.array(part, { maxLength: 4 }), (parts) => {
      const parsed = parseAssertion(parts.join("."), expected)
      expect(parsed === undefined || parsed.signature.length === 64).toBe(true)
    }),
    { numRuns },
  )
})

test("any change of one claim is noticed or harmless", () => {
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
