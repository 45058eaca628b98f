// Samples which statements wait for a lock, and for how long.
import { setTimeout as sleep } from "node:timers/promises"
import { type Database, run } from "../../server/store/postgres/sql.ts"

const everyMs = 20

/** Calls queue behind neither wait of a concurrent index build: for transactions (virtualxid), and for its own lock. */
const longest = `select max(extract(epoch from clock_timestamp() - waitstart))::float8 * 1000 as ms
  from pg_locks where not granted and locktype <> 'virtualxid' and mode <> 'ShareUpdateExclusiveLock'`

/** @returns Ends the sampling, with the longest wait that was seen in milliseconds. */
export function lockWaits(db: Database): () => Promise<number> {
  let isStopping = false
  let most = 0
  const sampling = (async () => {
    while (!isStopping) {
      const [row] = await run<{ ms: number | null }>(db, longest, [])
      most = Math.max(most, row?.ms ?? 0)
      await sleep(everyMs)
    }
  })()
  return async () => {
    isStopping = true
    await sampling
    return Math.round(most)
  }
}
