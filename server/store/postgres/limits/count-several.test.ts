import { randomBytes } from "node:crypto"
import { take } from "@signet/kernel/limits/bucket"
import type { Counting } from "@signet/kernel/limits/ports"
import type { Store } from "@signet/kernel/ports"
import fc from "fast-check"
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { testAuditLogDeps } from "../../../../test/support/audit-log-deps.ts"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"
import { run } from "../sql.ts"
import { createStore } from "../store.ts"
import { inThreeProcesses } from "../testing/calls.ts"
import { answersOf, type CallRow, countSeveralText, countSeveralValues, firstFurther } from "./count-several.ts"
import { countedRows, takenOf } from "./limits.ts"

const start = 1_800_000_000_000
const window = { limit: 4, seconds: 30 }
const text = `with ${countSeveralText(`select generate_series(1, $${firstFurther}::bigint)`)} select * from answered`
const freshKey = (): Uint8Array<ArrayBuffer> => new Uint8Array(randomBytes(32))
const countingOf = (keys: readonly Uint8Array[], nowMs = start, locks: readonly Uint8Array[] = []): Counting => ({
  asks: keys.map((key) => ({ key, window })),
  locks,
  nowMs,
})

async function countAll({ db }: TestStore, countings: readonly Counting[]) {
  const rows = await run<CallRow>(db, text, [...countSeveralValues(countings), countings.length])
  return answersOf(countings, rows, (row, counting) => takenOf(counting, countedRows(row)))
}

/** When the bucket is full again, in microseconds; undefined if it does not exist. */
async function storedOf({ db }: TestStore, key: Uint8Array): Promise<number | undefined> {
  const [row] = await run<{ full_at_us: number }>(db, "select full_at_us from rate_limit where key = $1", [key])
  return row?.full_at_us
}

describeOnEachStore("several calls in one statement", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())

  const round = fc.record({
    gapMs: fc.integer({ min: 0, max: 20_000 }),
    calls: fc.array(fc.tuple(fc.integer({ min: 0, max: 1 }), fc.integer({ min: 2, max: 4 })), {
      minLength: 1,
      maxLength: 6,
    }),
  })

  test("take from each bucket what the kernel takes, or nothing at all", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 5 }), async (rounds) => {
        const keys = Array.from({ length: 5 }, freshKey)
        const model = new Map<Uint8Array, number | undefined>()
        const takeOnce = (key: Uint8Array, nowMs: number) => {
          const taken = take(model.get(key), window, nowMs * 1_000)
          model.set(key, taken.fullAtMicros)
          return { granted: taken.granted, fullAtMs: taken.fullAtMicros / 1_000 }
        }
        // The buckets of both networks exist.
        for (const key of keys.slice(0, 2)) {
          takeOnce(key, start)
          await opened.store.limits.take([{ key, window }], [], start)
        }
        let nowMs = start
        for (const { gapMs, calls } of rounds) {
          nowMs += gapMs
          const countings = calls.map((places) =>
            countingOf(
              places.flatMap((place) => keys[place] ?? []),
              nowMs,
            ),
          )
          const roomy = keys.filter((key) => {
            const before = model.get(key)
            const asked = countings.filter(({ asks }) => asks.some((ask) => ask.key === key))
            const isRoomy = asked.every(() => takeOnce(key, nowMs).granted)
            model.set(key, before)
            return isRoomy
          })
          const answers = await countAll(opened, countings)
          for (const [i, { asks }] of countings.entries()) {
            const answer = answers[i]
            expect(typeof answer).toBe(asks.every(({ key }) => roomy.some((one) => one === key)) ? "object" : "string")
            if (typeof answer !== "object") continue
            const counted = asks.map(({ key }) => takeOnce(key, nowMs))
            expect(counted.every(({ granted }) => granted)).toBe(true)
            expect(answer).toEqual({ counted, lockedUntilMs: null })
          }
          for (const key of keys) expect(await storedOf(opened, key)).toBe(model.get(key))
        }
      }),
      { numRuns: 15 },
    )
  })

  test("leave a call to its own statement if two of its buckets are missing", async () => {
    const [network, client, other] = [freshKey(), freshKey(), freshKey()]
    await opened.store.limits.take([{ key: network, window }], [], start)
    const [both, one] = await countAll(opened, [countingOf([client, other]), countingOf([network])])
    expect(both).toBe("alone")
    expect(one).toMatchObject({ lockedUntilMs: null })
    expect(await storedOf(opened, client)).toBeUndefined()
  })

  test("refuse a call with an active lock, and count nothing for it", async () => {
    const [key, lock] = [freshKey(), freshKey()]
    await opened.store.limits.take([{ key, window }], [], start)
    await opened.store.limits.fail(lock, { failures: 1, seconds: 60, lockSeconds: 60, mostLockSeconds: 60 }, start)
    const before = await storedOf(opened, key)
    const countings = [countingOf([key], start, [lock]), countingOf([key], start, [freshKey()])]
    expect((await countAll(opened, countings)).map((answer) => typeof answer)).toEqual(["string", "object"])
    expect(await storedOf(opened, key)).toBe((before ?? 0) + (window.seconds / window.limit) * 1_000_000)
  })

  test("grant a call without buckets", async () => {
    expect(await countAll(opened, [countingOf([])])).toEqual([{ counted: [], lockedUntilMs: null }])
  })
})

describeOnPostgres("several calls beside another call's lock", () => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore("postgres")
  })
  afterAll(() => opened.close())

  test.each(["read committed", "serializable"])(
    "of three times the limit, in three processes and over two buckets, are granted up to the limit (%s)",
    async (isolation) => {
      await inThreeProcesses(opened.databaseUrl, isolation, async (databases) => {
        const stores = databases.map((db) => createStore(db, { audit: testAuditLogDeps() }))
        const keys = [freshKey(), freshKey()]
        const wide = { limit: 12, seconds: 3_600 }
        const answers = await Promise.all(
          Array.from({ length: 72 }, (_, i) => {
            const [key, { limits }] = [keys[i % 2], stores[i % 3]] as [Uint8Array, Store]
            return limits.take([{ key, window: wide }], [], start)
          }),
        )
        for (const parity of [0, 1]) {
          const granted = answers.filter(({ counted }, i) => i % 2 === parity && counted[0]?.granted === true)
          expect(granted).toHaveLength(12)
          expect(new Set(granted.map(({ counted }) => counted[0]?.fullAtMs)).size).toBe(12)
        }
      })
    },
  )

  test("are counted without a wait, except the calls of the locked bucket", async () => {
    const [locked, free] = [freshKey(), freshKey()]
    for (const key of [locked, free]) await opened.store.limits.take([{ key, window }], [], start)
    await opened.db.transaction().execute(async (holder) => {
      await sql`update rate_limit set step_us = step_us where key = ${locked}`.execute(holder)
      const countings = [countingOf([locked]), countingOf([free]), countingOf([locked, free])]
      expect(
        (await countAll(opened, countings)).map((answer) => (typeof answer === "object" ? "granted" : answer)),
      ).toEqual(["busy", "granted", "busy"])
    })
    expect((await countAll(opened, [countingOf([locked])])).map((answer) => typeof answer)).toEqual(["object"])
  })

  test("of one bucket in many statements at once are granted up to the limit", async () => {
    const key = freshKey()
    const wide = { limit: 30, seconds: 60 }
    await opened.store.limits.take([{ key, window: wide }], [], start)
    const batch = Array.from(
      { length: 5 },
      (): Counting => ({ asks: [{ key, window: wide }], locks: [], nowMs: start }),
    )
    let granted = 1
    const count = async () => {
      const answers = await countAll(opened, batch)
      granted += answers.filter((answer) => typeof answer === "object").length
      return answers.every((answer) => answer === "alone")
    }
    // Until a statement that met no lock has found no room for five.
    await vi.waitFor(
      async () => expect(await Promise.all([count(), count(), count(), count()])).toContain(true),
      20_000,
    )
    const alone = await Promise.all(
      Array.from({ length: 40 }, () => opened.store.limits.take(batch[0]?.asks ?? [], [], start)),
    )
    granted += alone.filter(({ counted }) => counted[0]?.granted).length
    expect(granted).toBe(wide.limit)
  })
})
