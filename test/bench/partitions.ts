// Installations beside each other, each with its own database and one server: what a call costs, and what an installation
// costs without calls. All are on one durable PostgreSQL, so a difference is the price of being apart.
import { setTimeout as sleep } from "node:timers/promises"
import { sql } from "kysely"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { startProgram } from "../support/program.ts"
import { machineLoad, postmasterOf, processorMicros } from "./cpu/processor-time.ts"
import { durable, type Measured, measureOnce, median } from "./peers/measure.ts"
import { postForm } from "./peers/post-form.ts"
import { addClients, settings } from "./workers.ts"

interface Row {
  readonly name: string
  /** A client's own token, of all installations together. */
  readonly perSecond: number
  /** Processor time of a call. */
  readonly serverMicros: number
  readonly databaseMicros: number
  readonly p50Ms: number
  /** Milliseconds of processor time a second of each installation, without calls. */
  readonly idleServerMs: number
  readonly idleDatabaseMs: number
  readonly load: number
}

export const sizes = {
  usual: { installations: [1, 2, 4], rounds: 5, seconds: 3, idleSeconds: 20 },
  smallest: { installations: [2], rounds: 1, seconds: 0.2, idleSeconds: 0.2 },
}

export async function run({ installations, rounds, seconds, idleSeconds }: typeof sizes.usual): Promise<Row[]> {
  const postgres = await startPostgres(durable)
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const { db, close } = openPostgres(postgres.url, { maxConnections: 1 })
  try {
    const database = await postmasterOf(db)
    const rows: Row[] = []
    for (const count of installations) {
      const all = await Promise.all(
        Array.from({ length: count }, async (_, index) => {
          const name = `of_${count}_${index}`
          await sql`create database ${sql.id(name)}`.execute(db)
          return startInstallation(Object.assign(new URL(postgres.url), { pathname: `/${name}` }).href)
        }),
      )
      const server = all.map(({ pid }) => pid)
      const act = async (caller: number) => all[caller % count]?.token(caller)
      const measured: Measured[] = []
      // The first round warms everything up and is not counted.
      for (let round = 0; round <= rounds; round++) {
        const one = await measureOnce(act, { server, database, seconds })
        if (round > 0) measured.push(one)
      }
      // Until the work that calls left behind is done.
      await sleep(Math.min(idleSeconds, 3) * 1_000)
      const micros = () => [server.reduce((sum, pid) => sum + processorMicros(pid), 0), processorMicros(database)]
      const [[serverBefore = 0, databaseBefore = 0], began] = [micros(), performance.now()]
      await sleep(idleSeconds * 1_000)
      const [serverAfter = 0, databaseAfter = 0] = micros()
      const perSecond = (microseconds: number) => microseconds / (performance.now() - began) / count
      const of = (value: (one: Measured) => number) => median(measured.map(value))
      rows.push({
        name: `${count} installations`,
        perSecond: of((one) => one.perSecond),
        serverMicros: of((one) => one.serverMicros),
        databaseMicros: of((one) => one.databaseMicros),
        p50Ms: of((one) => one.p50Ms),
        idleServerMs: perSecond(serverAfter - serverBefore),
        idleDatabaseMs: perSecond(databaseAfter - databaseBefore),
        load: machineLoad(),
      })
      for (const { stop } of all) await stop()
    }
    return rows
  } finally {
    await close()
    await postgres.stop()
  }
}

async function startInstallation(databaseUrl: string) {
  const { others } = await addClients(databaseUrl)
  const program = await startProgram({ ...settings(databaseUrl), SIGNET_WORKERS: "1" })
  const form = { grant_type: "client_credentials", audience: "svc-notes", scope: "notes.read" }
  return {
    pid: program.pid,
    token: (caller: number) => postForm(`${program.url}/auth/token`, form, others[caller]?.headers ?? {}),
    stop: () => program.end("SIGTERM"),
  }
}
