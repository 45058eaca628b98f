import { Refused } from "@signet/kernel/errors"
import { TokenRequestSchema } from "@signet/proto/auth/v1/token_service"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import { formJson, parseForm } from "./form.ts"

const parse = (text: string) => Object.fromEntries(parseForm(new TextEncoder().encode(text)))
const reasonOf = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    if (error instanceof Refused) return error.reason
    throw error
  }
  return "none"
}
const numRuns = effort(1_000, 20_000, 100_000)

describe("a form", () => {
  test.each<[string, Record<string, string>]>([
    ["", {}],
    ["&&", {}],
    ["a=1&b=2", { a: "1", b: "2" }],
    ["a=1&&b=2&", { a: "1", b: "2" }],
    ["a", { a: "" }],
    ["a=", { a: "" }],
    ["=a", { "": "a" }],
    ["a=b=c", { a: "b=c" }],
    ["a=b+c%20d%2B", { a: "b c d+" }],
    ["%61=%C3%A9", { a: "é" }],
    ["__proto__=x", Object.fromEntries([["__proto__", "x"]])],
  ])("%j is parsed as in RFC 6749", (text, expected) => {
    expect(parse(text)).toEqual(expected)
  })

  test.each(["a=%", "a=%4", "a=%zz", "%=1", "a=%ff", "a=%ed%a0%80"])("%j is refused as malformed", (text) => {
    expect(reasonOf(() => parse(text))).toBe("MALFORMED_REQUEST")
  })

  test("in another encoding than UTF-8 is refused", () => {
    expect(reasonOf(() => parseForm(Uint8Array.of(0x61, 0x3d, 0xe9)))).toBe("MALFORMED_REQUEST")
  })

  test.each(["a=1&a=1", "a=1&%61=2", "a&a=", "x=1&y=2&x="])("%j has a parameter twice", (text) => {
    expect(reasonOf(() => parse(text))).toBe("DUPLICATE_FIELD")
  })

  test("has at most 64 parameters", () => {
    const of = (count: number) => Array.from({ length: count }, (_, index) => `p${index}=`).join("&")
    expect(Object.keys(parse(of(64)))).toHaveLength(64)
    expect(reasonOf(() => parse(of(65)))).toBe("MALFORMED_REQUEST")
  })

  test("of any client parses to its parameters", () => {
    const name = fc.string({ unit: "grapheme" })
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(name, name), { selector: ([key]) => key, maxLength: 20 }), (pairs) => {
        expect([...parseForm(new TextEncoder().encode(new URLSearchParams(pairs).toString()))]).toEqual(pairs)
      }),
      { numRuns },
    )
  })

  test("of any bytes is parsed or refused, and never throws", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc
        .string({ unit: fc.constantFrom("a", "b", "=", "&", "%", "+", "4", "1", "é", "\0"), maxLength: 40 })
        .map((text) => new TextEncoder().encode(text)),
    )
    fc.assert(
      fc.property(bytes, (of) => {
        expect(["none", "MALFORMED_REQUEST", "DUPLICATE_FIELD"]).toContain(reasonOf(() => parseForm(of)))
      }),
      { numRuns },
    )
  })
})

describe("a form as a message", () => {
  const json = (form: Record<string, string>) => formJson(TokenRequestSchema, new Map(Object.entries(form)))
  test("omits unknown parameters, and names in other spellings", () => {
    expect(json({ grant_type: "pat", grantType: "x", resource: "y" })).toEqual({ grant_type: "pat" })
  })
  test("omits empty parameters, except credentials", () => {
    expect(json({ grant_type: "", scope: "", audience: "" })).toEqual({})
    const empty = {
      client_secret: "",
      client_assertion: "",
      pat: "",
      subject_token: "",
      actor_token: "",
      delegation_id: "",
    }
    expect(json(empty)).toEqual(empty)
  })
})
