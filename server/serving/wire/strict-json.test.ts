import { Refused } from "@signet/kernel/errors"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import { maxDepth, parseStrictJson } from "./strict-json.ts"

const parse = (text: string) => parseStrictJson(new TextEncoder().encode(text))

function reasonOf(text: string): string {
  try {
    parse(text)
    return ""
  } catch (error) {
    if (error instanceof Refused) return error.reason
    throw error
  }
}

describe("strict JSON", () => {
  test("accepts every JSON value", () => {
    const shallow = fc.json({ maxDepth: 6 })
    fc.assert(
      fc.property(shallow, (text) => {
        expect(parse(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  test("refuses what JSON.parse refuses, and throws nothing but refusals", () => {
    const noise = fc.string({ unit: fc.constantFrom(...'{}[]":,\\ueE+-.0123456789truefalsn \n\u0000é'.split("")) })
    fc.assert(
      fc.property(noise, (text) => {
        let isJson = true
        try {
          JSON.parse(text)
        } catch {
          isJson = false
        }
        if (!isJson) expect(reasonOf(text)).not.toBe("")
        else expect(["", "DUPLICATE_FIELD"]).toContain(reasonOf(text))
      }),
      { numRuns: effort(1_000, 20_000, 100_000) },
    )
  })

  test("refuses a name that occurs twice in an object, however it is escaped", () => {
    const name = fc.string({ minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(name, fc.array(name, { maxLength: 4 }), (twice, others) => {
        const written = [...others, twice, twice].map((each) => `${JSON.stringify(each)}:1`).join(",")
        expect(reasonOf(`{${written}}`)).toBe("DUPLICATE_FIELD")
        const escaped = [...twice].map((char) => escapedUnits(char)).join("")
        expect(reasonOf(`{${JSON.stringify(twice)}:[{"x":"]"}],"${escaped}":1}`)).toBe("DUPLICATE_FIELD")
      }),
    )
  })

  test.each([
    ["the same name at two levels", `{"a":{"a":1}}`],
    ["the same name in neighbours", `[{"a":1},{"a":1}]`],
    ["a name as a value", `{"a":"b","b":"a"}`],
    ["braces in a text", `{"a":"{\\"a\\":1,\\"a\\":2}"}`],
  ])("accepts %s", (_, text) => {
    expect(reasonOf(text)).toBe("")
  })

  test("accepts at most 32 levels", () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels)
    expect(reasonOf(nested(maxDepth))).toBe("")
    expect(reasonOf(nested(maxDepth + 1))).toBe("NESTING_TOO_DEEP")
    expect(reasonOf(`{"a":`.repeat(maxDepth + 1))).toBe("NESTING_TOO_DEEP")
  })

  test("reports a name truncated and printable", () => {
    const name = `\u202e${"x".repeat(200)}`
    try {
      parse(`{"${name}":1,"${name}":2}`)
    } catch (error) {
      expect(error).toMatchObject({ metadata: { field: `?${"x".repeat(63)}` } })
    }
    expect.assertions(1)
  })
})

const escapedUnits = (char: string) =>
  char
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("")
