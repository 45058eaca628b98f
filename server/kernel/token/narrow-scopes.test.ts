import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import { narrowScopes } from "./narrow-scopes.ts"

describe("narrowing", () => {
  test.each<[string, string[], string[], string[][], string[] | undefined]>([
    ["gives what was asked for", ["a"], ["b"], [["a", "b"]], ["a"]],
    ["gives the default when nothing was asked for", [], ["b"], [["a", "b"]], ["b"]],
    ["gives less than was asked for", ["a", "c"], ["b"], [["a", "b"]], ["a"]],
    ["gives less than the default", [], ["a", "b"], [["b"]], ["b"]],
    ["gives nothing when nothing was asked for and nothing is there", [], [], [["a"]], []],
    ["refuses when nothing is left of what was asked for", ["c"], ["a"], [["a"]], undefined],
  ])("%s", (_, asked, fallback, ceilings, expected) => {
    expect(narrowScopes(asked, fallback, ...ceilings)).toEqual(expected)
  })

  test("never yields an unrequested scope, or one beyond a ceiling", () => {
    const some = fc.subarray(["a", "b", "c", "d"])
    fc.assert(
      fc.property(some, some, fc.array(some, { minLength: 1, maxLength: 3 }), (asked, fallback, ceilings) => {
        const granted = narrowScopes(asked, fallback, ...ceilings) ?? []
        const from = asked.length === 0 ? fallback : asked
        expect(granted.every((scope) => from.includes(scope))).toBe(true)
        expect(granted.every((scope) => ceilings.every((ceiling) => ceiling.includes(scope)))).toBe(true)
      }),
      { numRuns: effort(1_000, 20_000, 100_000) },
    )
  })
})
