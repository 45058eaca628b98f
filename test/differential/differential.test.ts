// A client cannot tell the two backends apart, at length. A little of it is in the conformance suite, where the servers
// are there already.
import { afterAll, expect, test, vi } from "vitest"
import type { Served } from "../conformance/serve.ts"
import { effort } from "../support/effort.ts"
import { backends } from "./backends.ts"
import { play } from "./play.ts"
import { difference, type Seen } from "./seen.ts"
import { createSide } from "./side.ts"

vi.setConfig({ testTimeout: effort(180_000, 600_000, 10_800_000) })

const closing: Served[] = []
afterAll(async () => {
  for (const served of closing) await served.close()
})

async function start(name: string) {
  const served = await backends[name]?.()
  if (served === undefined) throw new Error(`no backend ${name}`)
  closing.push(served)
  return createSide(name, served)
}

test.skipIf(effort(true, false, false))("PostgreSQL and the Worker answer one random script alike", async () => {
  // Nights hunt with seeds of their own.
  const seed = effort("20261122", "20261122", String(Date.now()))
  const [left, right] = await Promise.all([start("postgres"), start("edge")])
  const { failure, compared } = await play({ seed, steps: effort(60, 150, 10_000), left, right })
  expect(failure, `seed ${seed}`).toBeUndefined()
  expect(compared).toBeGreaterThan(50)
})

test.each<[string, Seen, Seen, string | undefined]>([
  ["a value", { a: [1, 2] }, { a: [1, 3] }, "a.1: 2 | 3"],
  ["an order", ["x", "y"], ["y", "x"], '0: "x" | "y"'],
  ["what is missing", { a: 1 }, {}, "a: 1 | undefined"],
  ["what is more", [1], [1, 2], "1: undefined | 2"],
  ["nothing for something", { a: null }, { a: {} }, "a: null | {}"],
  ["a time that is near", { "~s": 10 }, { "~s": 40 }, undefined],
  ["a time that is far", { at: { "~s": 10 } }, { at: { "~s": 100 } }, "at: in 10 s | in 100 s"],
])("sees %s", (_, left, right, expected) => {
  expect(difference(left, right)).toBe(expected)
})
