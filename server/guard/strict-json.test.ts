import fc from "fast-check"
import { expect, test } from "vitest"
import { effort } from "../../test/support/effort.ts"
import { decodeBase64url, hasDuplicateNames } from "./strict-json.ts"

test("JSON.stringify never writes a name twice", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      expect(hasDuplicateNames(JSON.stringify(value))).toBe(false)
    }),
    { numRuns: effort(200, 2_000, 20_000) },
  )
})

test.each([
  ["the same text twice in a list", '{"a":["x","x"]}', false],
  ["a value that is also a name", '{"a":"b","b":"a"}', false],
  ["a name in two objects side by side", '[{"a":1},{"a":1}]', false],
  ["a name in an object and in one within it", '{"a":{"a":1}}', false],
  ["a name twice", '{"a":1,"a":2}', true],
  ["a name twice, once with an escape", '{"a":1,"\\u0061":2}', true],
  ["a name twice within", '[{"b":{"a":1,"a":2}}]', true],
  ["a name again after a list", '{"a":["x","y"],"a":2}', true],
  ["a name again after an object", '{"a":{"b":1},"a":2}', true],
])("%s", (_, text, expected) => {
  expect(hasDuplicateNames(text)).toBe(expected)
})

test("non-canonical base64url is rejected", () => {
  for (const text of ["A", "AAAAA", "AB", "AAB", "A=", "AA==", "A+AA", "A/AA", "AA\n", " AAA"]) {
    expect([text, decodeBase64url(text)]).toEqual([text, undefined])
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      expect(decodeBase64url(Buffer.from(bytes).toString("base64url"))).toEqual(bytes)
    }),
    { numRuns: effort(100, 1_000, 10_000) },
  )
})
