import { expect, test } from "vitest"
import { countNames, countSteps } from "./counts.ts"

const span = { startMs: 1_000, endMs: 1_300, steps: 3 }
const countsOf = (events: { atMs: number; series: number }[]) => countSteps(events, span, 2).map(({ counts }) => counts)

test("a step includes its start and excludes its end", () => {
  const events = [1_000, 1_099, 1_100, 1_299].map((atMs) => ({ atMs, series: 0 }))
  expect(countsOf(events)).toEqual([
    [2, 0],
    [1, 0],
    [1, 0],
  ])
  expect(countSteps([], span, 1).map(({ startMs }) => startMs)).toEqual([1_000, 1_100, 1_200])
})

test("an event outside of the span, or of no series, is not counted", () => {
  const outside = [999, 1_300, 5_000, Number.NaN].map((atMs) => ({ atMs, series: 1 }))
  expect(countsOf([...outside, { atMs: 1_050, series: 2 }, { atMs: 1_050, series: -1 }]).flat()).toEqual(
    new Array(6).fill(0),
  )
})

test("the most frequent name is first", () => {
  expect(countNames(["b", "a", "b", "c", "__proto__"])).toEqual([
    { name: "b", count: 2 },
    { name: "__proto__", count: 1 },
    { name: "a", count: 1 },
    { name: "c", count: 1 },
  ])
})
