// The calls of `peers` while Signet's tables grow: processor time of server and database at each size. A cost that grows
// with the tables shows as a ratio above 1.
import { sql } from "kysely"
import { openPostgres } from "../../server/store/postgres/open.ts"
import type { Database } from "../../server/store/postgres/sql.ts"
import { accountTables, type Growth, grow } from "../support/growth.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { machineLoad, postmasterOf } from "./cpu/processor-time.ts"
import { startSignet } from "./peers/forked.ts"
import { callers, durable, type Measured, measureOnce, median } from "./peers/measure.ts"

interface Row {
  readonly name: string
  readonly perSecond: number
  readonly serverMicros: number
  readonly databaseMicros: number
  /** Server and database, as a ratio of the first size. */
  readonly ratio: number
  readonly load: number
}

/** `rows` in each table of identities, sessions, tokens, clients and audit, one size after the other. */
export const sizes = {
  usual: { rows: [10_000, 1_000_000], rounds: 5, seconds: 2 },
  smallest: { rows: [100, 300], rounds: 1, seconds: 0.2 },
  large: { rows: [10_000, 1_000_000, 10_000_000] },
}

export async function run({ rows, rounds, seconds }: typeof sizes.usual): Promise<Row[]> {
  const postgres = await startPostgres({ ...durable, autovacuum: "on" })
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const closing: (() => unknown)[] = [() => postgres.stop()]
  try {
    const { db, close } = openPostgres(postgres.url, { maxConnections: 1 })
    closing.push(close)
    const database = await postmasterOf(db)
    const { pid, works, stop, prepare } = await startSignet({ databaseUrl: postgres.url, callers })
    closing.push(stop)
    const measureAll = async () => {
      const measured = new Map([...works.keys()].map((work) => [work, [] as Measured[]]))
      // The first round warms everything up and is not counted.
      for (let round = 0; round <= rounds; round++) {
        for (const [work, act] of works) {
          await prepare?.(work, seconds)
          const one = await measureOnce(act, { server: pid, database, seconds })
          if (round > 0) measured.get(work)?.push(one)
        }
      }
      return measured
    }
    const found: Row[] = []
    let from = 0
    for (const to of rows) {
      // Each table needs a row that the others are like.
      if (from === 0) for (const [work, act] of works) await prepare?.(work, 1).then(() => act(0))
      await grow(db, { from, to }, await filled(db), "bulk")
      // Autovacuum's work.
      await sql`vacuum (analyze)`.execute(db)
      from = to
      for (const [work, measured] of await measureAll()) {
        const of = (value: (one: Measured) => number) => median(measured.map(value))
        const [serverMicros, databaseMicros] = [of((one) => one.serverMicros), of((one) => one.databaseMicros)]
        const first = found.find(({ name }) => name.startsWith(`${work}, `))
        const ratio = (serverMicros + databaseMicros) / (first ? first.serverMicros + first.databaseMicros : Number.NaN)
        const perSecond = of((one) => one.perSecond)
        found.push({
          ...{ name: `${work}, ${to} rows`, perSecond, serverMicros, databaseMicros },
          ...{ ratio: first ? ratio : 1, load: machineLoad() },
        })
      }
    }
    return found
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

/** The tables with a row that new ones can be like: all that these calls write. */
async function filled(db: Database): Promise<readonly Growth[]> {
  const found: Growth[] = []
  for (const one of accountTables) {
    const { rows } = await sql<{ n: number }>`select 1 as n from ${sql.table(one.table)} limit 1`.execute(db)
    if (rows.length > 0) found.push(one)
  }
  return found
}
