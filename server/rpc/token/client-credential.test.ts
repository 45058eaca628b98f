import { Refused } from "@signet/kernel/errors"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import { clientCredentialOf, parseBasic } from "./client-credential.ts"

const numRuns = effort(1_000, 20_000, 100_000)
const encode = (text: string) => Buffer.from(text).toString("base64")
const jwtBearer = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
const nothing = { clientId: "", clientAssertionType: "" }

describe("a Basic header", () => {
  test.each([
    [`Basic ${encode("a:b")}`, { clientId: "a", secret: "b" }],
    [`basic   ${encode("a:b")}`, { clientId: "a", secret: "b" }],
    // RFC 6749 section 2.3.1: each half is form-encoded first.
    [`Basic ${encode("a%3Ab+c:d%25")}`, { clientId: "a:b c", secret: "d%" }],
    [`Basic ${encode("a:b:c")}`, { clientId: "a", secret: "b:c" }],
    // 2,048 characters of base64: the limit.
    [`Basic ${encode(`a:${"b".repeat(1_534)}`)}`, { clientId: "a", secret: "b".repeat(1_534) }],
  ])("%s is client id and secret", (header, expected) => {
    expect(parseBasic(header)).toEqual(expected)
  })

  test.each([
    "",
    "Basic",
    "Basic ",
    `Bearer ${encode("a:b")}`,
    `Basic ${encode("a")}`,
    `Basic ${encode("a:")}`,
    `Basic ${encode(":b")}`,
    `Basic ${encode("a:%zz")}`,
    `Basic ${encode("a:b")}, Basic ${encode("a:b")}`,
    `Basic ${Buffer.from([0x61, 0x3a, 0xff]).toString("base64")}`,
    "Basic a-_=",
    `Basic ${encode("abc")}`,
    `Basic ${encode(`a:${"b".repeat(1_535)}`)}`,
  ])("%s is none", (header) => {
    expect(parseBasic(header)).toBeUndefined()
  })

  test("of any client id and secret is parsed back", () => {
    const half = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(half, half, (clientId, secret) => {
        const text = [clientId, secret].map((part) => new URLSearchParams([["", part]]).toString().slice(1)).join(":")
        expect(parseBasic(`Basic ${encode(text)}`)).toEqual({ clientId, secret })
      }),
      { numRuns },
    )
  })

  test("of any text is parsed or refused, and never throws", () => {
    const header = fc.oneof(
      fc.string(),
      fc.string().map((text) => `Basic ${text}`),
      fc.uint8Array({ maxLength: 40 }).map((bytes) => `Basic ${Buffer.from(bytes).toString("base64")}`),
    )
    fc.assert(
      fc.property(header, (text) => {
        const parsed = parseBasic(text)
        expect(parsed === undefined || (parsed.clientId !== "" && parsed.secret !== "")).toBe(true)
      }),
      { numRuns },
    )
  })
})

describe("a client authenticates", () => {
  const basic = `Basic ${encode("a:b")}`
  test.each([
    ["in no way", nothing, null, { is: "none" }],
    ["by its name alone in no way", { ...nothing, clientId: "a" }, null, { is: "none" }],
    ["by header", nothing, basic, { is: "secret", method: "client_secret_basic", clientId: "a", secret: "b" }],
    [
      "by header, and by the same name in the body",
      { ...nothing, clientId: "a" },
      basic,
      { is: "secret", method: "client_secret_basic", clientId: "a", secret: "b" },
    ],
    [
      "by post",
      { ...nothing, clientId: "a", clientSecret: "b" },
      null,
      { is: "secret", method: "client_secret_post", clientId: "a", secret: "b" },
    ],
    [
      "by assertion",
      { ...nothing, clientAssertion: "x", clientAssertionType: jwtBearer },
      null,
      { is: "assertion", clientId: "", assertion: "x" },
    ],
    ["by bearer", nothing, "Bearer x", { is: "bearer" }],
  ])("%s", (_, parameters, header, expected) => {
    expect(clientCredentialOf(parameters, header)).toEqual(expected)
  })

  test.each([
    ["in two ways", { ...nothing, clientSecret: "b" }, basic, "AMBIGUOUS_CREDENTIAL"],
    ["in two ways, one of them empty", { ...nothing, clientSecret: "" }, basic, "AMBIGUOUS_CREDENTIAL"],
    ["under two names", { ...nothing, clientId: "c" }, basic, "INVALID_FIELD"],
    ["by an assertion without its type", { ...nothing, clientAssertion: "x" }, null, "INVALID_FIELD"],
    ["by a type without its assertion", { ...nothing, clientAssertionType: jwtBearer }, null, "INVALID_FIELD"],
    [
      "by an assertion of another type",
      { ...nothing, clientAssertion: "x", clientAssertionType: "urn:saml" },
      null,
      "CLIENT_INVALID",
    ],
    ["by another scheme", nothing, "Negotiate x", "CLIENT_INVALID"],
  ])("never %s", (_, parameters, header, reason) => {
    const refused = clientCredentialOf(parameters, header)
    expect(refused instanceof Refused && refused.reason).toBe(reason)
  })
})
