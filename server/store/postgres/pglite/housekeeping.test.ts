import { sql } from "kysely"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { isLong } from "../../../../test/support/effort.ts"
import { openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { startHousekeeping } from "./housekeeping.ts"

let opened: TestStore
beforeAll(async () => {
  opened = await openTestStore("pglite")
})
afterAll(() => vi.useRealTimers())

const fail = (error: unknown) => expect.unreachable(String(error))
const minutes = 60_000

async function read() {
  const { rows } = await sql<{ checkpoint: string; vacuumed: Date | null }>`
    select (select checkpoint_lsn::text from pg_control_checkpoint()) as checkpoint,
      (select last_vacuum from pg_stat_user_tables where relname = 'app') as vacuumed`.execute(opened.db)
  return rows[0]
}

/** The pool has one connection, which vacuum and checkpoint use before the second reading. */
async function readAfterRound() {
  await read()
  return read()
}

test.runIf(isLong)(
  "vacuums and checkpoints at the start, checkpoints every 15 minutes, vacuums once a day",
  async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] })
    const before = await read()
    const stop = startHousekeeping(opened.db, fail)
    const started = await readAfterRound()
    expect(before?.vacuumed).toBeNull()
    expect(started?.vacuumed).not.toBeNull()
    expect(started?.checkpoint).not.toBe(before?.checkpoint)

    vi.advanceTimersByTime(15 * minutes)
    const later = await readAfterRound()
    expect(later?.checkpoint).not.toBe(started?.checkpoint)
    expect(later?.vacuumed).toEqual(started?.vacuumed)

    for (let quarter = 0; quarter < 4 * 24; quarter++) {
      vi.advanceTimersByTime(15 * minutes)
      await readAfterRound()
    }
    const nextDay = await readAfterRound()
    expect(nextDay?.vacuumed?.getTime()).toBeGreaterThan(started?.vacuumed?.getTime() ?? 0)

    await stop()
    const stopped = await read()
    vi.advanceTimersByTime(60 * minutes)
    expect(await read()).toEqual(stopped)
  },
)

test("a failed round is reported, and does not end the process", async () => {
  await opened.close()
  const errors: unknown[] = []
  await startHousekeeping(opened.db, (error) => errors.push(error))()
  expect(errors).toHaveLength(1)
})
