// Processor time of other processes, from /proc: the database has no interface for it.
import { readdirSync, readFileSync } from "node:fs"
import { loadavg } from "node:os"
import { sql } from "kysely"
import type { Database } from "../../../server/store/postgres/sql.ts"

/** Microseconds of a tick of /proc: `getconf CLK_TCK` is 100 on every Linux that Node supports. */
const tickMicros = 10_000

interface Stat {
  readonly parent: number
  readonly micros: number
}

/** Processor time that a process, its children and its ended children have used, in microseconds. NaN without /proc. */
export function processorMicros(root: number): number {
  const stats = new Map<number, Stat>()
  for (const name of folders()) {
    const stat = statOf(Number(name), Number(name) === root)
    if (stat !== undefined) stats.set(Number(name), stat)
  }
  const own = stats.get(root)
  if (own === undefined) return Number.NaN
  return [...stats].reduce((sum, [, stat]) => (stat.parent === root ? sum + stat.micros : sum), own.micros)
}

/** The process id of the PostgreSQL server that a connection leads to, on this machine. */
export async function postmasterOf(db: Database): Promise<number> {
  const { rows } = await sql<{ data_directory: string }>`show data_directory`.execute(db)
  return Number(readFileSync(`${rows[0]?.data_directory}/postmaster.pid`, "utf8").split("\n", 1)[0])
}

/** Runnable processes of the last minute, for the reader of a bench. */
export const machineLoad = (): number => loadavg()[0] ?? Number.NaN

function folders(): readonly string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}

function statOf(pid: number, withEnded: boolean): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The name in parentheses may contain spaces.
    const fields = text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number)
    const [, parent = 0] = fields
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15)
    const ticks = user + system + (withEnded ? endedUser + endedSystem : 0)
    return { parent, micros: ticks * tickMicros }
  } catch {
    // The process has ended since the folder was listed.
    return undefined
  }
}
