// The disk of PostgreSQL's tables, or of its log of writes, becomes full under eight writers, and gets space again.
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { freePort } from "../support/free-port.ts"
import { startProgram } from "../support/program.ts"
import { settings } from "./failover.ts"
import { type Cluster, openCluster } from "./postgres-cluster.ts"
import { mountSmallDisk, noSmallDisk, type SmallDisk } from "./small-disk.ts"
import { compareWithDatabase, startWriters } from "./writers.ts"

export interface FullDiskFigures {
  readonly acknowledged: number
  /** Failed calls by code and reason. */
  readonly failures: Readonly<Record<string, number>>
  readonly lost: number
  readonly extra: number
  /** What /livez answered while the disk was full. */
  readonly livez: number
  /** PostgreSQL crashes if it cannot write its log, and stops if it cannot recover without space. */
  readonly databaseStopped: boolean
  /** From the return of the space, and a start of PostgreSQL if it had stopped, to the first acknowledged write. */
  readonly recoveredMs: number
}

export type FullDisk = "tables" | "log"

const diskMegabytes = { tables: 128, log: 48 }
/** Failed calls after which the disk counts as full. */
const enough = 24

/**
 * @param which The disk that becomes full. The other files of PostgreSQL are elsewhere.
 * @param writes Acknowledged before the disk becomes full, and after it.
 * @returns Undefined if there is no PostgreSQL, or no right to mount a disk.
 */
export async function fullDisk(which: FullDisk, writes: number): Promise<FullDiskFigures | undefined> {
  const cluster = noSmallDisk === undefined ? await openCluster() : undefined
  if (cluster === undefined) return undefined
  const disk = mountSmallDisk(diskMegabytes[which])
  try {
    return await drill(cluster, disk, { which, writes })
  } finally {
    await cluster.close()
    disk.close()
  }
}

async function drill(
  cluster: Cluster,
  disk: SmallDisk,
  { which, writes }: { which: FullDisk; writes: number },
): Promise<FullDiskFigures> {
  await cluster.own(disk.folder)
  const [full, roomy] = [join(disk.folder, "postgres"), join(cluster.folder, "postgres")]
  const [data, log] = which === "tables" ? [full, roomy] : [roomy, full]
  // Small segments, because the log needs space only for the next one.
  await cluster.initialise(data, "-X", `${log}-log`, "--wal-segsize=1")
  const port = await freePort()
  // Without a checkpoint meanwhile, which would use old segments again.
  const start = () => cluster.start(data, port, { min_wal_size: "2MB", max_wal_size: "1GB", autovacuum: "off" })
  let postgres = await start()
  await postgres.query("create database signet")
  const program = await startProgram(settings(postgres.url("signet")))
  try {
    const writers = await startWriters(program.url, 8)
    await writers.more(writes)
    const failed = () => writers.all.reduce((sum, writer) => sum + writer.failed, 0)
    disk.fill(100_000)
    while (failed() < enough) await sleep(50)
    const { status: livez } = await fetch(`${program.url}/livez`)
    // The keys of tokens need no database.
    await (await fetch(`${program.url}/.well-known/jwks.json`)).json()
    await sleep(1_000)
    disk.free()
    const databaseStopped = postgres.hasEnded()
    // As a service manager that starts it again.
    if (databaseStopped) postgres = await start()
    const freedAt = performance.now()
    await writers.more(1)
    const recoveredMs = Math.round(performance.now() - freedAt)
    await writers.more(writes)
    await writers.stop()
    const { db, close } = openPostgres(postgres.url("signet"), { maxConnections: 1 })
    const compared = await compareWithDatabase(db, writers)
    await close()
    return {
      acknowledged: writers.acknowledged(),
      failures: writers.failures(),
      ...compared,
      ...{ livez, databaseStopped, recoveredMs },
    }
  } finally {
    await program.end("SIGTERM")
  }
}
