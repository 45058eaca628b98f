// Signet beside other authorization servers, in one run on one durable PostgreSQL: oidc-provider with its memory adapter
// always; Hydra and Keycloak where a variable names the program. Contenders take turns, and each number is the median of
// the rounds, so that noise hits all alike.
import { sql } from "kysely"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { machineLoad, postmasterOf } from "./cpu/processor-time.ts"
import { startOidcProvider, startSignet } from "./peers/forked.ts"
import { callers, durable, type Measured, measureOnce, median } from "./peers/measure.ts"
import { isSkipped, type Peer, type Skipped } from "./peers/peer.ts"
import { startHydra, startKeycloak } from "./peers/programs.ts"

type Row = Skipped | ({ readonly name: string; readonly load: number } & Measured)

export const sizes = { usual: { rounds: 5, seconds: 2 }, smallest: { rounds: 1, seconds: 0.2 } }

const starts = { signet: startSignet, oidc: startOidcProvider, hydra: startHydra, keycloak: startKeycloak }

export async function run({ rounds, seconds }: typeof sizes.usual): Promise<Row[]> {
  const postgres = await startPostgres(durable)
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const closing: (() => unknown)[] = [() => postgres.stop()]
  try {
    const { db, close } = openPostgres(postgres.url, { maxConnections: 1 })
    closing.push(close)
    const database = await postmasterOf(db)
    const peers: Peer[] = []
    const skipped: Skipped[] = []
    for (const [name, start] of Object.entries(starts)) {
      await sql`create database ${sql.ref(name)}`.execute(db)
      const peer = await start({ databaseUrl: postgres.url.replace(/\/postgres$/, `/${name}`), callers })
      if (isSkipped(peer)) skipped.push(peer)
      else {
        closing.push(peer.stop)
        peers.push(peer)
      }
    }
    const contenders = peers.flatMap((peer) => [...peer.works].map(([work, act]) => ({ work, act, peer })))
    const measured = contenders.map((): Measured[] => [])
    // The first round warms everything up and is not counted.
    for (let round = 0; round <= rounds; round++) {
      for (const [i, { work, act, peer }] of contenders.entries()) {
        await peer.prepare?.(work, seconds)
        const one = await measureOnce(act, { server: peer.pid, database, seconds })
        if (round > 0) measured[i]?.push(one)
      }
    }
    const rows = contenders.map(({ work, peer }, i): Row => {
      const of = (value: (one: Measured) => number) => median((measured[i] ?? []).map(value))
      return {
        name: `${work}: ${peer.name}`,
        perSecond: of((one) => one.perSecond),
        serverMicros: of((one) => one.serverMicros),
        databaseMicros: of((one) => one.databaseMicros),
        p50Ms: of((one) => one.p50Ms),
        load: machineLoad(),
      }
    })
    return [...rows.toSorted((a, b) => a.name.localeCompare(b.name)), ...skipped]
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}
