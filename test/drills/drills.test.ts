// Drills of operations: the failure is real, and the database shows afterwards what each answer was worth.
import { describe, expect, test } from "vitest"
import { hasProxy } from "../release/proxy.ts"
import { effort, isLong, isNightly } from "../support/effort.ts"
import { noPostgres } from "../support/postgres.ts"
import { hasFaketime, jumpingClock } from "./clock.ts"
import { noDns } from "./dns.ts"
import { failover } from "./failover.ts"
import { fullDisk } from "./full-disk.ts"
import { hasHaproxy } from "./haproxy.ts"
import { migration } from "./migration.ts"
import { movedDatabase } from "./moved-database.ts"
import { paused } from "./paused.ts"
import { hasPgBouncer, throughPgBouncer } from "./pooler.ts"
import { hasPreviousRelease } from "./previous-release.ts"
import { hasBaseBackup, restoreToMoment } from "./restore.ts"
import { rotation } from "./rotation.ts"
import { noSmallDisk } from "./small-disk.ts"
import { storm } from "./storm.ts"
import type { StreamFigures } from "./streams.ts"
import { upgrade } from "./upgrade.ts"

const writes = effort(50, 150, 5_000)
const skipped = isLong ? (noPostgres ?? "") : "npm run test:long runs it"
/** Of the drills that .ci/run leaves to the night. */
const skippedByDay = isNightly ? skipped : "npm run nightly runs it"

/** A guard's feed and a messenger resumed by themselves, without a gap and without a repetition. */
function expectResumed(streams: StreamFigures | undefined): void {
  expect(streams).toMatchObject({ missing: 0, repeated: 0 })
  expect(streams?.revoked).toBeGreaterThan(0)
  expect(streams?.sent).toBeGreaterThan(0)
  expect(streams?.subscriptions).toBeGreaterThan(0)
  expect(streams?.feedProblems).toBeGreaterThan(0)
}

describe.skipIf(skipped !== "")(`a database that fails over${skipped && ` (skipped: ${skipped})`}`, () => {
  test("loses no acknowledged write, repeats none, resumes streams, and serves within ten seconds", async () => {
    const figures = await failover(writes)
    console.log(figures)
    expect(figures).toMatchObject({ lost: 0, extra: 0 })
    expectResumed(figures?.streams)
    expect(figures?.acknowledgedAfter).toBeGreaterThanOrEqual(writes)
    expect(figures?.failedCalls).toBeGreaterThan(0)
    expect(figures?.recoveredMs).toBeLessThan(10_000)
  }, 300_000)
})

describe.skipIf(skipped !== "")(`a database that is paused${skipped && ` (skipped: ${skipped})`}`, () => {
  test("loses no acknowledged write, and serves within ten seconds after the pause", async () => {
    const figures = await paused(writes)
    console.log(figures)
    expect(figures).toMatchObject({ lost: 0, extra: 0, readiness: { status: "not ready", missing: ["database"] } })
    expect(figures?.recoveredMs).toBeLessThan(10_000)
  }, 300_000)
})

const withoutPooler = skipped || (hasPgBouncer ? "" : "no PgBouncer")
describe.skipIf(withoutPooler !== "")(
  `PgBouncer in transaction mode${withoutPooler && ` (skipped: ${withoutPooler})`}`,
  () => {
    test("carries eight writers on four connections without a failed call, without named statements", async () => {
      const figures = await throughPgBouncer(writes)
      expect(figures).toMatchObject({ failedCalls: 0, lost: 0, extra: 0 })
      expect(figures?.acknowledged).toBeGreaterThanOrEqual(writes)
    }, 300_000)
  },
)

const withoutBackup = skippedByDay || (hasBaseBackup ? "" : "no pg_basebackup of PostgreSQL 15")
describe.skipIf(withoutBackup !== "")(
  `a restore to a point in time${withoutBackup && ` (skipped: ${withoutBackup})`}`,
  () => {
    test("has every write from before, none from after, a whole audit, and the messages of its clients", async () => {
      const figures = await restoreToMoment(writes)
      console.log(figures)
      expect(figures).toMatchObject({ lost: 0, extra: 0, messagesReturned: 2, auditIsWhole: [true, true] })
      expect(figures?.acknowledgedAfter).toBeGreaterThanOrEqual(writes)
    }, 300_000)
  },
)

const withoutHaproxy = skippedByDay || (hasHaproxy ? "" : "no HAProxy")
describe.skipIf(withoutHaproxy !== "")(`HAProxy${withoutHaproxy && ` (skipped: ${withoutHaproxy})`}`, () => {
  test("leads to the promoted standby: no acknowledged write is lost or repeated", async () => {
    const figures = await failover(writes, "haproxy")
    console.log(figures)
    expect(figures).toMatchObject({ lost: 0, extra: 0 })
    expectResumed(figures?.streams)
    expect(figures?.failedCalls).toBeGreaterThan(0)
    expect(figures?.recoveredMs).toBeLessThan(10_000)
  }, 300_000)
})

const withoutDisk = skippedByDay || (noSmallDisk ?? "")
describe.skipIf(withoutDisk !== "")(`a full disk${withoutDisk && ` (skipped: ${withoutDisk})`}`, () => {
  test.each([
    ["tables", "ResourceExhausted STORAGE_FULL"],
    ["log", "Unavailable UNAVAILABLE"],
  ] as const)(
    "of the %s refuses calls with %s, and loses nothing",
    async (which, refusal) => {
      const figures = await fullDisk(which, writes)
      console.log(figures)
      expect(figures).toMatchObject({ lost: 0, extra: 0, livez: 200 })
      expect(Object.keys(figures?.failures ?? {})).toContain(refusal)
      expect(Object.keys(figures?.failures ?? {}).filter((name) => !/STORAGE_FULL|UNAVAILABLE/.test(name))).toEqual([])
      expect(figures?.recoveredMs).toBeLessThan(60_000)
    },
    300_000,
  )
})

const withoutDns = skippedByDay || (noDns ?? "")
describe.skipIf(withoutDns !== "")(
  `a name of the database that moves${withoutDns && ` (skipped: ${withoutDns})`}`,
  () => {
    test("is resolved again: no acknowledged write is lost or repeated", async () => {
      const figures = await movedDatabase(writes)
      console.log(figures)
      expect(figures).toMatchObject({ lost: 0, extra: 0 })
      expect(Object.keys(figures?.failures ?? {})).toEqual(["Unavailable UNAVAILABLE"])
      expect(figures?.recoveredMs).toBeLessThan(10_000)
    }, 300_000)
  },
)

const withoutFaketime = skippedByDay || (hasFaketime ? "" : "no libfaketime")
describe.skipIf(withoutFaketime !== "")(
  `a clock that jumps${withoutFaketime && ` (skipped: ${withoutFaketime})`}`,
  () => {
    test("an hour forward and back loses no write, delays messages, and keeps the audit whole", async () => {
      const figures = await jumpingClock(writes)
      console.log(figures)
      expect(figures).toMatchObject({ lost: 0, extra: 0, messages: 4, auditIsWhole: true })
      // Each window of a rate limit is empty after the jump back, and refills.
      const failed = Object.keys(figures?.failures ?? {})
      expect(failed.filter((name) => name !== "ResourceExhausted RATE_LIMITED")).toEqual([])
      expect(figures?.queued).toBeGreaterThan(0)
      // Tokens of ten minutes: expired after an hour, and not yet valid an hour ago.
      expect(figures?.earlierTokens).toEqual([401, 401])
    }, 300_000)
  },
)

describe.skipIf(skippedByDay !== "")(`a storm of connections${skippedByDay && ` (skipped: ${skippedByDay})`}`, () => {
  test("is answered within the memory of the server, which cuts slow clients and recovers", async () => {
    const clients = effort(100, 500, 3_000)
    const figures = await storm(clients, writes)
    console.log(figures)
    expect(figures).toMatchObject({ cut: clients, lost: 0, extra: 0 })
    // A server without CPU time for ten seconds cuts a client whose request it has not read.
    expect(figures?.answered).toBeGreaterThan(0.9 * clients)
    expect(figures?.whileExhausted).toMatchObject({ livez: 200, readyz: 503 })
    expect(figures?.whileExhausted.livezMs).toBeLessThan(5_000)
    expect(figures?.recoveredMs).toBeLessThan(10_000)
    expect(figures?.mostMegabytes).toBeLessThan(512)
  }, 300_000)
})

describe.skipIf(skippedByDay !== "")(
  `migrations of a large table${skippedByDay && ` (skipped: ${skippedByDay})`}`,
  () => {
    test("fail no call of a server that writes to it, and end although it adds rows that are due", async () => {
      const figures = await migration(effort(0, 20_000, 1_000_000), effort(0, 10_000, 100_000))
      console.log(figures)
      expect(figures).toMatchObject({ lost: 0, extra: 0 })
      expect(figures?.failures).toEqual({})
      expect(figures?.steps["0031_audit_filters"]?.longestLockWaitMs).toBeLessThan(1_000)
      expect(figures?.steps.column?.longestLockWaitMs).toBeLessThan(2_500)
      expect(figures?.left).toBeLessThan(1_000)
    }, 600_000)
  },
)

/** Servers start under these writers several times, on a machine that runs other tests. */
const restartWriters = effort(0, 2, 8)

describe.skipIf(skippedByDay !== "")(
  `a rotation of the sealing key and the pepper${skippedByDay && ` (skipped: ${skippedByDay})`}`,
  () => {
    test("fails no call and loses no write, and the audit verifies", async () => {
      const figures = await rotation(effort(0, 20, 5_000), restartWriters)
      console.log(figures)
      expect(figures).toMatchObject({ lost: 0, extra: 0, auditIsWhole: true })
      expect(figures?.failures).toEqual({})
      expect(figures?.refusal).toContain("retired")
    }, 600_000)
  },
)

const withoutPrevious =
  skipped ||
  (hasProxy("nginx") ? "" : "no nginx") ||
  ((await hasPreviousRelease()) ? "" : "its commit is not in this clone")
describe.skipIf(withoutPrevious !== "")(
  `an upgrade from the release before${withoutPrevious && ` (skipped: ${withoutPrevious})`}`,
  () => {
    test("loses no write, no call by the new release, can be undone, and is finished by a command", async () => {
      const each = effort(0, 20, 5_000)
      const figures = await upgrade(each, restartWriters)
      console.log(figures)
      expect(figures).toMatchObject({ lost: 0, extra: 0 })
      expect(figures?.acknowledged).toBeGreaterThanOrEqual(7 * each)
      // The release before closes connections that nginx has opened and it has not read, so single calls fail.
      const { oldStopped = Number.NaN, ...others } = figures?.failed ?? {}
      expect(others).toEqual({ newStopped: 0, otherwise: 0 })
      expect(oldStopped).toBeLessThanOrEqual((figures?.acknowledged ?? 0) / 100)
      expect(figures?.stops).toHaveLength(3)
      expect(figures?.acknowledgedMeanwhile).toBeGreaterThan(0)
      expect(figures?.migrated).toBeGreaterThan(0)
      expect(figures?.finished).toEqual(["0020_audit_address_and_auth_time", "0023_directive_leases"])
    }, 1_800_000)
  },
)
