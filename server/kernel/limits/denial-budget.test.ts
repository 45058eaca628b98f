import { expect, test } from "vitest"
import { createDenialBudget } from "./denial-budget.ts"

test("the first denials of a minute are written down, and the next minute's first tells how many were not", () => {
  const budget = createDenialBudget(2)
  const taken = [0, 1, 2, 59_999].map((nowMs) => budget.take("ada", nowMs))
  expect(taken.map(({ isWritten }) => isWritten)).toEqual([true, true, false, false])
  expect(budget.take("bob", 3)).toEqual({ isWritten: true, unwritten: 0 })
  expect(budget.take("ada", 60_000)).toEqual({ isWritten: true, unwritten: 2 })
  expect(budget.take("ada", 60_001)).toEqual({ isWritten: true, unwritten: 0 })
})

test("only so many callers are remembered", () => {
  const budget = createDenialBudget(1, 2)
  for (const caller of ["ada", "bob", "eve"]) budget.take(caller, 0)
  expect(budget.take("eve", 1).isWritten).toBe(false)
  expect(budget.take("ada", 1).isWritten).toBe(true)
})
