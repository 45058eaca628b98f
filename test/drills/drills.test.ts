// Drills of operations: the failure is real, and the database shows afterwards what each answer was worth.
import { describe, expect, test } from "vitest"
import { effort, isLong } from "../support/effort.ts"
import { noPostgres } from "../support/postgres.ts"
import { failover } from "./failover.ts"
import { paused } from "./paused.ts"
import { hasPgBouncer, throughPgBouncer } from "./pooler.ts"
import { hasPreviousRelease } from "./previous-release.ts"
import { hasBaseBackup, restoreToMoment } from "./restore.ts"
import { upgrade } from "./upgrade.ts"

const writes = effort(50, 150, 5_000)
const skipped = isLong ? (noPostgres ?? "") : "npm run test:long runs them"

describe.skipIf(skipped !== "")(`a database that fails over${skipped && ` (skipped: ${skipped})`}`, () => {
  test("loses no acknowledged write, repeats none, and serves within ten seconds of the promotion", async () => {
    const figures = await failover(writes)
    console.log(figures)
    expect(figures).toMatchObject({ lost: 0, extra: 0 })
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

const withoutBackup = skipped || (hasBaseBackup ? "" : "no pg_basebackup of PostgreSQL 15")
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

// Installing the release before takes minutes.
const isNight = effort(false, false, true)
const withoutPrevious = isNight && !(await hasPreviousRelease()) ? "its commit is not in this clone" : ""
const title = `an upgrade from the release before${withoutPrevious && ` (skipped: ${withoutPrevious})`}`
if (isNight) {
  describe.skipIf(withoutPrevious !== "")(title, () => {
    test("fails no call and loses no write, can be undone, and is finished by a command", async () => {
      const figures = await upgrade(writes)
      console.log(figures)
      expect(figures).toMatchObject({ failedCalls: 0, lost: 0, extra: 0 })
      expect(figures?.acknowledged).toBeGreaterThanOrEqual(5 * writes)
      expect(figures?.migrated).toBeGreaterThan(0)
      expect(figures?.finished).toEqual(["0020_audit_address_and_auth_time", "0023_directive_leases"])
    }, 1_800_000)
  })
}
