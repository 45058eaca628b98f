import { expect, test } from "vitest"
import { isOneOf, isPast, isText, isTime, skewSeconds } from "./claim.ts"

test("a value must be an accepted one and never the empty string", () => {
  expect(isOneOf("a", ["a", "b"])).toBe(true)
  for (const value of ["c", "", 1, null, undefined, ["a"]]) expect(isOneOf(value, ["a", "b"])).toBe(false)
  expect(isOneOf("", [""])).toBe(false)
})

test("a text has a maximum length, no U+0000 and no unpaired surrogate", () => {
  for (const value of ["", "abc", "ä\u{1f600}"]) expect(isText(value, 3)).toBe(true)
  for (const value of ["abcd", "a\0b", "a\ud83d", "\ude00", 3, null, undefined, ["a"]])
    expect(isText(value, 3)).toBe(false)
})

test("a time is a number of seconds since 1970, fractions included", () => {
  for (const value of [0, 0.5, 1_700_000_000, 2 ** 40 - 1]) expect(isTime(value)).toBe(true)
  for (const value of [-1, -0.5, 2 ** 40, Number.NaN, Infinity, "1700000000", null, undefined, [5], 5n]) {
    expect(isTime(value)).toBe(false)
  }
})

test("a time counts as past up to the accepted clock skew", () => {
  expect(isPast(100 + skewSeconds, 100)).toBe(true)
  expect(isPast(101 + skewSeconds, 100)).toBe(false)
  for (const value of [-1, "100", null]) expect(isPast(value, 100)).toBe(false)
})
