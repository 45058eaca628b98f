import { sql } from "kysely"
import { expect } from "vitest"
import type { Database } from "../../server/store/postgres/sql.ts"

/** Resolves when this many connections to the database wait for a lock, for tests of ordering. */
export async function untilWaiting(db: Database, count = 1): Promise<void> {
  const waiting = sql<{ n: number }>`select count(*)::int as n from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  await expect.poll(async () => (await waiting.execute(db)).rows[0]?.n).toBe(count)
}
