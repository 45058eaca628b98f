// Limit counts in objects on the real runtime, compared with the kernel's arithmetic.
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { take } from "@signet/kernel/limits/bucket"
import { countFailure, type Lockout } from "@signet/kernel/limits/lockout"
import type { LimitCounts } from "@signet/kernel/limits/ports"
import fc from "fast-check"
import { Miniflare } from "miniflare"
import { afterAll, beforeAll, expect, test } from "vitest"
import { effort, isLong } from "../../../../test/support/effort.ts"
import { buildWorker } from "../../../edge/node/build.ts"
import { fromText, toText } from "../plain.ts"
import { createCounts } from "./counts.ts"

const start = 1_800_000_000_000
const newKey = () => new Uint8Array(randomBytes(32))
let worker: Miniflare
let counts: LimitCounts

beforeAll(async () => {
  const { code } = await buildWorker(join(import.meta.dirname, "../testing/counter/worker.ts"))
  worker = new Miniflare({
    modules: [{ type: "ESModule", path: "worker.mjs", contents: code }],
    compatibilityDate: "2026-06-01",
    compatibilityFlags: ["nodejs_compat"],
    cf: false,
    durableObjects: { COUNTERS: { className: "CounterObject", useSQLite: true } },
  })
  const url = await worker.ready
  const call =
    (method: keyof LimitCounts) =>
    async (...args: unknown[]) => {
      const response = await fetch(url, { method: "POST", body: toText({ method, args }) })
      if (!response.ok) throw new Error(await response.text())
      return fromText<{ answer: never }>(await response.text()).answer
    }
  counts = { take: call("take"), giveBack: call("giveBack"), fail: call("fail") }
})
afterAll(() => worker?.dispose())

test("equal the kernel's bucket for every window and time", async () => {
  const calls = fc.array(
    fc.record({
      gapMs: fc.integer({ min: -2_000, max: 20_000 }),
      window: fc.record({ limit: fc.integer({ min: 1, max: 4 }), seconds: fc.integer({ min: 1, max: 30 }) }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  await fc.assert(
    fc.asyncProperty(calls, async (calls) => {
      const key = newKey()
      let full: number | undefined
      let nowMs = start
      for (const { gapMs, window } of calls) {
        nowMs += gapMs
        const expected = take(full, window, nowMs * 1_000)
        full = expected.fullAtMicros
        const { counted } = await counts.take([{ key, window }], [], nowMs)
        expect(counted).toEqual([{ granted: expected.granted, fullAtMs: full / 1_000 }])
      }
    }),
    { numRuns: effort(10, 100, 1_000) },
  )
})

test.runIf(isLong)("of failures equal the kernel's lockout", async () => {
  const policies = fc.record({
    failures: fc.integer({ min: 1, max: 3 }),
    seconds: fc.integer({ min: 1, max: 60 }),
    lockSeconds: fc.integer({ min: 1, max: 60 }),
    mostLockSeconds: fc.integer({ min: 60, max: 300 }),
  })
  const gaps = fc.array(fc.integer({ min: 0, max: 90_000 }), { minLength: 1, maxLength: 15 })
  await fc.assert(
    fc.asyncProperty(policies, gaps, async (policy, gaps) => {
      const key = newKey()
      let state: Lockout | undefined
      let nowMs = start
      for (const gap of gaps) {
        nowMs += gap
        const expected = countFailure(state, policy, nowMs)
        state = expected.state
        expect(await counts.fail(key, policy, nowMs)).toBe(expected.counted ? null : state.lockedUntilMs)
        const { lockedUntilMs } = await counts.take([], [key], nowMs)
        expect(lockedUntilMs).toBe(state.lockedUntilMs > nowMs ? state.lockedUntilMs : null)
      }
    }),
    { numRuns: effort(10, 100, 1_000) },
  )
})

test("concurrent calls are granted up to the limit", async () => {
  const [key, window] = [newKey(), { limit: 5, seconds: 60 }]
  const asked = await Promise.all(Array.from({ length: 20 }, () => counts.take([{ key, window }], [], start)))
  expect(asked.filter(({ counted }) => counted[0]?.granted)).toHaveLength(5)
})

test("a count is returned when another window refused the call", async () => {
  const [wide, narrow] = [
    { key: newKey(), window: { limit: 2, seconds: 60 } },
    { key: newKey(), window: { limit: 1, seconds: 60 } },
  ]
  await counts.take([narrow], [], start)
  expect((await counts.take([wide, narrow], [], start)).counted.map(({ granted }) => granted)).toEqual([true, false])
  await counts.giveBack([wide])
  expect((await counts.take([wide, wide], [], start)).counted.map(({ granted }) => granted)).toEqual([true, true])
})

test("a failed count refuses the call", async () => {
  const gone = createCounts({
    getByName: () => {
      throw new Error("overloaded")
    },
  })
  const refused = { reason: "UNAVAILABLE" }
  await expect(gone.take([{ key: newKey(), window: { limit: 1, seconds: 1 } }], [], start)).rejects.toMatchObject(
    refused,
  )
  await expect(
    gone.fail(newKey(), { failures: 1, seconds: 1, lockSeconds: 1, mostLockSeconds: 1 }, start),
  ).rejects.toMatchObject(refused)
})

test.runIf(isLong)("a lock that was prolonged outlives the object's first alarm", async () => {
  const [key, marker] = [newKey(), newKey()]
  const nowMs = Date.now()
  const window = { limit: 1, seconds: 1 }
  await counts.take([{ key, window }], [], nowMs)
  await counts.fail(key, { failures: 1, seconds: 1, lockSeconds: 600, mostLockSeconds: 600 }, nowMs)
  const { lockedUntilMs } = await counts.take([], [key], nowMs)
  expect(lockedUntilMs).toBe(nowMs + 600_000)
  // Once the marker's alarm has erased its count, the alarm of the key, due two seconds earlier, has rung, too.
  const marked = { key: marker, window: { limit: 1, seconds: 3 } }
  await counts.take([marked], [], nowMs)
  const isErased = async () => (await counts.take([marked], [], nowMs)).counted[0]?.granted
  await expect.poll(isErased).toBe(true)
  expect((await counts.take([], [key], nowMs)).lockedUntilMs).toBe(lockedUntilMs)
})
