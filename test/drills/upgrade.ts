// A rolling upgrade from the release before, under eight writers: the new server migrates the database while the old one
// serves, takes over, and is rolled back and forth once before the upgrade is finished.
import { join } from "node:path"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { freePort } from "../support/free-port.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"
import { settings } from "./failover.ts"
import { previousRelease } from "./previous-release.ts"
import { administer } from "./program-clients.ts"
import { compareWithDatabase, startWriters } from "./writers.ts"

interface UpgradeFigures {
  readonly acknowledged: number
  readonly failedCalls: number
  readonly lost: number
  readonly extra: number
  /** Migrations that the new server applied while the old one served. */
  readonly migrated: number
  /** Migrations that `admin migrate --finish` applied. */
  readonly finished: readonly string[]
}

const main = (folder: string) => join(folder, "server/node/main.ts")
const here = join(import.meta.dirname, "../..")

/**
 * @param writes Acknowledged in each of the five phases.
 * @param writerCount Fewer writers leave more processor time to servers that start.
 * @returns Undefined if there is no PostgreSQL.
 */
export async function upgrade(writes: number, writerCount = 8): Promise<UpgradeFigures | undefined> {
  const postgres = await startPostgres()
  if (postgres === undefined) return undefined
  const release = await previousRelease()
  const before = release.folder
  const environment = settings(postgres.url)
  const running = new Set<RunningProgram>()
  const start = async (folder: string) => {
    // Both servers have one issuer, as behind one proxy.
    const program = await startProgram({ ...environment, SIGNET_ISSUER: issuer, PORT: "0" }, main(folder))
    running.add(program)
    return program
  }
  const stop = async (program: RunningProgram) => {
    running.delete(program)
    return program.end("SIGTERM")
  }
  const first = await freePort()
  const issuer = `http://127.0.0.1:${first}`
  try {
    const old = await startProgram({ ...environment, SIGNET_ISSUER: issuer, PORT: String(first) }, main(before))
    running.add(old)
    const writers = await startWriters(old.url, writerCount)
    await writers.more(writes)
    const next = await start(here)
    const migrated = /"migrations":\[([^\]]*)\]/.exec(next.output())?.[1]?.split(",").length ?? 0
    // Both serve on the new schema.
    await writers.more(writes)
    writers.moveTo(next.url)
    await writers.more(writes)
    await stop(old)
    // Back to the old release, on the new schema, and forward again.
    const again = await start(before)
    writers.moveTo(again.url)
    await writers.more(writes)
    writers.moveTo(next.url)
    await writers.more(writerCount)
    await stop(again)
    const { applied: finished } = (await administer(environment, "migrate", "--finish")) as { applied: string[] }
    await writers.more(writes)
    await writers.stop()
    const { db, close } = openPostgres(postgres.url, { maxConnections: 1 })
    const compared = await compareWithDatabase(db, writers)
    await close()
    const failedCalls = writers.all.reduce((sum, { failed }) => sum + failed, 0)
    return { acknowledged: writers.acknowledged(), failedCalls, ...compared, migrated, finished }
  } finally {
    await Promise.all([...running].map(stop))
    await postgres.stop()
    release.remove()
  }
}
