// Drills of operations: the failure is real, and the database shows afterwards what each answer was worth.
import { describe, expect, test } from "vitest"
import { effort, isLong } from "../support/effort.ts"
import { noPostgres } from "../support/postgres.ts"
import { failover } from "./failover.ts"
import { hasPgBouncer, throughPgBouncer } from "./pooler.ts"

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
