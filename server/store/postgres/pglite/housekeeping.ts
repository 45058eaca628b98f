import { CompiledQuery } from "kysely"
import type { Database } from "../sql.ts"

const checkpointEveryMs = 15 * 60_000
const vacuumEveryMs = 24 * 3_600_000

/**
 * Replaces PostgreSQL's background processes, which PGlite lacks: without them the log and dead rows would grow
 * forever. A checkpoint every 15 minutes; a vacuum with new statistics at the start and once a day.
 *
 * @returns Stops it, and waits for the running round.
 */
export function startHousekeeping(db: Database, onError: (error: unknown) => void): () => Promise<void> {
  let vacuumedAt = Number.NEGATIVE_INFINITY
  let underWay: Promise<void> = Promise.resolve()
  const round = async () => {
    try {
      const now = performance.now()
      if (now - vacuumedAt >= vacuumEveryMs) {
        vacuumedAt = now
        await db.executeQuery(CompiledQuery.raw("vacuum (analyze)"))
      }
      await db.executeQuery(CompiledQuery.raw("checkpoint"))
    } catch (error) {
      onError(error)
    }
  }
  const start = () => {
    underWay = round()
  }
  start()
  const timer = setInterval(start, checkpointEveryMs).unref()
  return () => {
    clearInterval(timer)
    return underWay
  }
}
