import { expect, test } from "vitest"
import { countTo, excess, isAllowed } from "./sample.ts"

test("below the limit, or an administrator", () => {
  expect([isAllowed(2, false), isAllowed(3, false), isAllowed(3, true)]).toEqual([true, false, true])
})

test("above the limit", () => {
  expect(excess(5)).toBe(5)
})

test("it counts", () => {
  expect(countTo(2)).toBe(2)
})
