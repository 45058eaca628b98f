// The name of the database in the connection string resolves to another address: the standby, after the primary was killed.
import { openPostgres } from "../../server/store/postgres/open.ts"
import { freePort } from "../support/free-port.ts"
import { startProgram } from "../support/program.ts"
import { noDns, startDns } from "./dns.ts"
import { settings } from "./failover.ts"
import { startPostgresPair } from "./postgres-pair.ts"
import { compareWithDatabase, startWriters } from "./writers.ts"

export interface MovedFigures {
  readonly acknowledged: number
  readonly failures: Readonly<Record<string, number>>
  readonly lost: number
  readonly extra: number
  /** Questions for the name while the program ran. */
  readonly questions: number
  /** From the new answer to the first acknowledged write. */
  readonly recoveredMs: number
}

/**
 * @param writes Acknowledged before the move, and after it.
 * @returns Undefined if PostgreSQL is missing, or a DNS server may not run.
 */
export async function movedDatabase(writes: number): Promise<MovedFigures | undefined> {
  const [one, two] = ["127.0.0.2", "127.0.0.3"] as const
  const port = await freePort()
  const pair = noDns === undefined ? await startPostgresPair({ hosts: [one, two], port }) : undefined
  if (pair === undefined) return undefined
  const dns = await startDns(one)
  try {
    const url = `postgres://postgres@${dns.name}:${port}/signet`
    const program = await startProgram(settings(url), undefined, dns.wrapper)
    try {
      const writers = await startWriters(program.url, 8)
      await writers.more(writes)
      pair.killPrimary()
      await pair.promote()
      // As long as the name leads to the former primary, nothing is acknowledged.
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      dns.point(two)
      const movedAt = performance.now()
      await writers.more(1)
      const recoveredMs = Math.round(performance.now() - movedAt)
      await writers.more(writes)
      await writers.stop()
      const { db, close } = openPostgres(pair.url, { maxConnections: 1 })
      const compared = await compareWithDatabase(db, writers)
      await close()
      return {
        ...{ acknowledged: writers.acknowledged(), failures: writers.failures(), ...compared },
        ...{ questions: dns.asked(), recoveredMs },
      }
    } finally {
      await program.end("SIGTERM")
    }
  } finally {
    dns.close()
    await pair.stop()
  }
}
