import { describe, expect, test } from "vitest"
import { isFork, openReports, withReport } from "./fork.ts"
import type { ForkReport } from "./records.ts"
import { device, leaf, nowMs, user } from "./testing/records.ts"

const report = (number: number, epoch = 3n): ForkReport => ({
  deviceId: device(number),
  userId: user(Math.floor(number / 10)),
  epoch,
  seq: 7n,
  fault: "COMMIT_UNPROCESSABLE",
  stateTag: null,
  reportedAtMs: nowMs,
})
const online = (...numbers: number[]) => numbers.map((number) => report(number))

describe("a fork", () => {
  test.each<[string, number[], number[], boolean]>([
    ["of one of two", [20], [10, 20], true],
    ["of one of three", [20], [10, 20, 30], false],
    ["of two of three", [20, 30], [10, 20, 30], true],
    ["of one user's many devices", [20, 21, 22], [10, 20, 21, 22, 30, 40], false],
    ["of every user, though devices are more", [10, 20], [10, 11, 12, 13, 20, 21], true],
    ["of nobody", [], [10], false],
    ["of one when nobody is online", [20], [], true],
  ])("%s: %s of %s", (_, reporters, there, expected) => {
    expect(isFork(online(...reporters), 3n, online(...there))).toBe(expected)
  })

  test("counts the reports of its epoch only", () => {
    const there = online(10, 20, 30, 40, 50)
    expect(isFork([report(20), report(30, 2n), report(40, 2n)], 3n, there)).toBe(false)
  })
})

test("a device's report counts once", () => {
  expect(withReport([report(20)], report(20))).toHaveLength(1)
  expect(withReport([report(20)], report(21))).toHaveLength(2)
})

test("quarantine ends once every reporter has rejoined or left", () => {
  expect(openReports([report(20)], [leaf(0, 10), leaf(1, 20, 1n)])).toHaveLength(1)
  expect(openReports([report(20)], [leaf(0, 10)])).toEqual([])
  expect(openReports([report(20)], [leaf(0, 10), leaf(1, 20, 6n)])).toEqual([])
})
