// Lets one process at a time migrate, by a row that expires: a session's lock would stay behind in a pooler.
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { CompiledQuery } from "kysely"
import { type Database, run } from "../sql.ts"

const seconds = 30
const renewEveryMs = 5_000
const pauseMs = 200

const table = `create table if not exists migration_lease (
  id integer primary key check (id = 1), holder text not null, expires_at timestamptz not null)`
const take = `insert into migration_lease (id, holder, expires_at) values (1, $1, now() + interval '${seconds} seconds')
  on conflict (id) do update set holder = $1, expires_at = now() + interval '${seconds} seconds'
  where migration_lease.holder = $1 or migration_lease.expires_at < now() returning holder`

/** Runs the work while no other process runs its own. Waits for the others; a crashed one holds it for 30 seconds. */
export async function withLease<T>(db: Database, work: () => Promise<T>): Promise<T> {
  const holder = randomUUID()
  await createTable(db)
  const isTaken = async () => (await run(db, take, [holder])).length > 0
  while (!(await isTaken())) await sleep(pauseMs)
  const timer = setInterval(() => isTaken().catch(() => undefined), renewEveryMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    await run(db, "delete from migration_lease where holder = $1", [holder]).catch(() => undefined)
  }
}

/** Two processes that create it at once: one gets an error of the catalog, and finds the table when it tries again. */
async function createTable(db: Database): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await db.executeQuery(CompiledQuery.raw(table))
      return
    } catch (error) {
      if (attempt === 5) throw error
      await sleep(pauseMs)
    }
  }
}
