import { expect, test } from "vitest"
import { budgetWindowMs, createAuditBudget } from "./audit-budget.ts"

const share = (key: string, most: number) => ({ key, most, facts: key })

test("a share's first events are written, and the number of the others is returned once after the window", () => {
  const budget = createAuditBudget<string>()
  const take = (nowMs: number) => budget.take([share("ada", 2)], nowMs)
  expect([0, 1, 2, budgetWindowMs - 1].map(take)).toEqual([true, true, false, false])
  expect(budget.take([share("bob", 2)], 3)).toBe(true)
  expect(budget.takeDue(budgetWindowMs - 1)).toEqual([])
  expect(budget.takeDue(budgetWindowMs)).toEqual([{ facts: "ada", count: 2 }])
  expect(budget.takeDue(2 * budgetWindowMs)).toEqual([])
  expect(take(budgetWindowMs)).toBe(true)
})

test("an event needs all its shares, and the first exhausted one counts it", () => {
  const budget = createAuditBudget<string>()
  const take = (network: string) => budget.take([share(network, 2), share("all", 3)], 0)
  expect(["a", "a", "a", "b", "b", "b"].map(take)).toEqual([true, true, false, true, false, false])
  expect(budget.takeDue(budgetWindowMs)).toEqual([
    { facts: "a", count: 1 },
    { facts: "all", count: 2 },
  ])
})

test("any number of networks causes a bounded number of rows, which account for every event", () => {
  const budget = createAuditBudget<string>(50)
  let [events, rows, counted] = [0, 0, 0]
  for (let window = 0; window < 3; window++) {
    for (let i = 0; i < 5_000; i++) {
      events++
      const shares = [share(`network ${i % 400}`, 5), share("all", 100)]
      if (budget.take(shares, window * budgetWindowMs)) rows++
    }
    const due = budget.takeDue((window + 1) * budgetWindowMs)
    counted += due.reduce((sum, { count }) => sum + count, 0)
    expect(due.length).toBeLessThanOrEqual(100 / 5 + 1)
  }
  expect(rows).toBe(300)
  expect(rows + counted).toBe(events)
})

test("the number of shares is limited, and an evicted share's count is due at once", () => {
  const budget = createAuditBudget<string>(2)
  for (const key of ["ada", "ada", "bob", "eve"]) budget.take([share(key, 1)], 0)
  expect(budget.takeDue(0)).toEqual([{ facts: "ada", count: 1 }])
})

test("a clock that moves backwards opens no new window", () => {
  const budget = createAuditBudget<string>()
  const times = [5 * budgetWindowMs, 4 * budgetWindowMs]
  expect(times.map((nowMs) => budget.take([share("ada", 1)], nowMs))).toEqual([true, false])
})

test("counts that could not be written are returned again", () => {
  const budget = createAuditBudget<string>()
  for (let i = 0; i < 3; i++) budget.take([share("ada", 1)], 0)
  const due = budget.takeDue(budgetWindowMs)
  budget.owe(due)
  expect(budget.takeDue(budgetWindowMs)).toEqual(due)
})
