// The database is paused with SIGSTOP under eight writers, and goes on after a while: longer than a statement may take.
import { readFileSync } from "node:fs"
import { sql } from "kysely"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { startProgram } from "../support/program.ts"
import { settings } from "./failover.ts"
import { compareWithDatabase, startWriters } from "./writers.ts"

interface PausedFigures {
  readonly acknowledged: number
  readonly failedCalls: number
  readonly lost: number
  readonly extra: number
  /** What /readyz reported during the pause. */
  readonly readiness: unknown
  /** From the end of the pause to the first acknowledged write. */
  readonly recoveredMs: number
}

const pauseMs = 6_000

/**
 * @param writes Acknowledged before the pause, and again after it.
 * @returns Undefined if there is no PostgreSQL.
 */
export async function paused(writes: number): Promise<PausedFigures | undefined> {
  const postgres = await startPostgres()
  if (postgres === undefined) return undefined
  try {
    const program = await startProgram({ ...settings(postgres.url), DATABASE_STATEMENT_SECONDS: "3" })
    try {
      const writers = await startWriters(program.url, 8)
      await writers.more(writes)
      const { db, close } = openPostgres(postgres.url, { maxConnections: 1 })
      const { rows } = await sql<{ file: string }>`select pg_read_file('postmaster.pid') as file`.execute(db)
      const processes = processesOf(Number(rows[0]?.file.split("\n")[0]))
      signal(processes, "SIGSTOP")
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      const readiness: unknown = await (await fetch(`${program.url}/readyz`)).json()
      signal(processes, "SIGCONT")
      const resumedAt = performance.now()
      await writers.more(1)
      const recoveredMs = Math.round(performance.now() - resumedAt)
      await writers.more(writes)
      await writers.stop()
      const compared = await compareWithDatabase(db, writers)
      await close()
      const failedCalls = writers.all.reduce((sum, { failed }) => sum + failed, 0)
      return { acknowledged: writers.acknowledged(), failedCalls, ...compared, readiness, recoveredMs }
    } finally {
      await program.end("SIGTERM")
    }
  } finally {
    await postgres.stop()
  }
}

/** The postmaster and its processes. */
function processesOf(postmaster: number): readonly number[] {
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8").trim()
  return [postmaster, ...children.split(" ").map(Number)]
}

function signal(processes: readonly number[], name: "SIGSTOP" | "SIGCONT"): void {
  for (const pid of processes) {
    try {
      process.kill(pid, name)
    } catch {
      // A backend has ended meanwhile.
    }
  }
}
