import { expect, test } from "vitest"
import { sumNames, sumSteps } from "./counts.ts"

const span = { startMs: 1_000, endMs: 1_300, steps: 3 }
const sumsOf = (counted: Parameters<typeof sumSteps>[0]) => sumSteps(counted, span, 2).map(({ counts }) => counts)

test("a step includes its start and excludes its end", () => {
  const counted = [1_000, 1_099, 1_100, 1_299].map((atMs) => ({ atMs, series: 0, count: 10 }))
  expect(sumsOf(counted)).toEqual([
    [20, 0],
    [10, 0],
    [10, 0],
  ])
  expect(sumSteps([], span, 1).map(({ startMs }) => startMs)).toEqual([1_000, 1_100, 1_200])
})

test("a count outside of the span, or of no series, is left out", () => {
  const outside = [999, 1_300, 5_000, Number.NaN].map((atMs) => ({ atMs, series: 1, count: 1 }))
  const others = [2, -1].map((series) => ({ atMs: 1_050, series, count: 1 }))
  expect(sumsOf([...outside, ...others]).flat()).toEqual(new Array(6).fill(0))
})

test("the name with the largest sum is first", () => {
  const counted = ["b", "a", "b", "c", "__proto__"].map((name) => ({ name, count: 1_000 }))
  expect(sumNames(counted)).toEqual([
    { name: "b", count: 2_000 },
    { name: "__proto__", count: 1_000 },
    { name: "a", count: 1_000 },
    { name: "c", count: 1_000 },
  ])
})
