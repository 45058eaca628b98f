import { createHash } from "node:crypto"
import { take } from "@signet/kernel/limits/bucket"
import { countFailure, type Lockout } from "@signet/kernel/limits/lockout"
import fc from "fast-check"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"

const keyOf = (name: unknown) => new Uint8Array(createHash("sha256").update(String(name)).digest())
const start = 1_800_000_000_000
let keys = 0
const freshKey = () => keyOf(keys++)

describeOnEachStore("counts", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())

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
        const key = freshKey()
        let full: number | undefined
        let nowMs = start
        for (const { gapMs, window } of calls) {
          nowMs += gapMs
          const expected = take(full, window, nowMs * 1_000)
          full = expected.fullAtMicros
          const { counted } = await opened.store.limits.take([{ key, window }], [], nowMs)
          expect(counted).toEqual([{ granted: expected.granted, fullAtMs: full / 1_000 }])
        }
      }),
      { numRuns: 25 },
    )
  })

  test("of failures equal the kernel's lockout", async () => {
    const policies = fc.record({
      failures: fc.integer({ min: 1, max: 3 }),
      seconds: fc.integer({ min: 1, max: 60 }),
      lockSeconds: fc.integer({ min: 1, max: 60 }),
      mostLockSeconds: fc.integer({ min: 60, max: 300 }),
    })
    const gaps = fc.array(fc.integer({ min: 0, max: 90_000 }), { minLength: 1, maxLength: 15 })
    await fc.assert(
      fc.asyncProperty(policies, gaps, async (policy, gaps) => {
        const key = freshKey()
        let state: Lockout | undefined
        let nowMs = start
        for (const gapMs of gaps) {
          nowMs += gapMs
          const expected = countFailure(state, policy, nowMs)
          state = expected.state
          const locked = await opened.store.limits.fail(key, policy, nowMs)
          expect(locked).toBe(expected.counted ? null : state.lockedUntilMs)
          const { lockedUntilMs } = await opened.store.limits.take([], [key], nowMs)
          expect(lockedUntilMs).toBe(state.lockedUntilMs > nowMs ? state.lockedUntilMs : null)
        }
      }),
      { numRuns: 25 },
    )
  })

  test("of one call are counted in each bucket separately, in order", async () => {
    const [a, b] = [freshKey(), freshKey()]
    const [one, two] = [
      { limit: 1, seconds: 60 },
      { limit: 2, seconds: 60 },
    ]
    const asks = [
      { key: a, window: one },
      { key: b, window: two },
    ]
    const grantedOf = async (of: typeof asks) =>
      (await opened.store.limits.take(of, [], start)).counted.map(({ granted }) => granted)
    expect(await grantedOf(asks)).toEqual([true, true])
    expect(await grantedOf(asks.toReversed())).toEqual([true, false])
    expect(await grantedOf(asks)).toEqual([false, false])
  })

  test("are returned when another bucket refused the call", async () => {
    const ask = [{ key: freshKey(), window: { limit: 1, seconds: 60 } }]
    const granted = async () => (await opened.store.limits.take(ask, [], start)).counted[0]?.granted
    expect(await granted()).toBe(true)
    await opened.store.limits.giveBack(ask)
    expect([await granted(), await granted()]).toEqual([true, false])
    // The call was refused, so nothing is returned.
    await opened.store.limits.giveBack(ask)
    expect(await granted()).toBe(false)
  })

  test("inside of a transaction roll back with it", async () => {
    const key = freshKey()
    const ask = [{ key, window: { limit: 1, seconds: 60 } }]
    const fault = new Error("rolled back")
    const work = opened.store.transaction(async (tx) => {
      await tx.limits.take(ask, [], start)
      throw fault
    })
    await expect(work).rejects.toBe(fault)
    expect((await opened.store.limits.take(ask, [], start)).counted[0]?.granted).toBe(true)
  })
})

describeOnPostgres("counts of many at once", () => {
  test("of three times the limit grant exactly the limit", async () => {
    const opened = await openTestStore("postgres", { maxConnections: 20 })
    const [own, shared] = [freshKey(), freshKey()]
    const asks = [
      { key: own, window: { limit: 40, seconds: 3_600 } },
      { key: shared, window: { limit: 90, seconds: 3_600 } },
    ]
    const results = await Promise.all(
      Array.from({ length: 120 }, (_, i) => opened.store.limits.take(i % 2 ? asks : asks.toReversed(), [], start)),
    )
    const granted = (key: Uint8Array) =>
      results.filter(({ counted }, i) => counted[(key === own) === (i % 2 === 1) ? 0 : 1]?.granted).length
    expect([granted(own), granted(shared)]).toEqual([40, 90])
    const policy = { failures: 10, seconds: 60, lockSeconds: 60, mostLockSeconds: 60 }
    const fails = await Promise.all(Array.from({ length: 60 }, () => opened.store.limits.fail(own, policy, start)))
    expect(fails.filter((locked) => locked === null)).toHaveLength(10)
    await opened.close()
  })
})
