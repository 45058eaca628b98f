// A rolling upgrade from the release before, under eight writers that know the address of one nginx only: the new server
// migrates the database while the old one serves, the old one stops, and both are rolled back and forth once before the
// upgrade is finished.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { hasProxy, startProxy } from "../release/proxy.ts"
import { makeCertificate } from "../support/certificate.ts"
import { freePort } from "../support/free-port.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"
import { settings } from "./failover.ts"
import { previousRelease } from "./previous-release.ts"
import { administer } from "./program-clients.ts"
import { compareWithDatabase, signInAtStandIn, startWriters } from "./writers.ts"

interface UpgradeFigures {
  readonly acknowledged: number
  readonly failures: Readonly<Record<string, number>>
  readonly lost: number
  readonly extra: number
  /** Servers that got SIGTERM while the writers called, and the milliseconds until each had ended. */
  readonly stops: readonly number[]
  /** Failed calls while servers of each release stopped, and otherwise. */
  readonly failed: { readonly oldStopped: number; readonly newStopped: number; readonly otherwise: number }
  /** Acknowledged writes while a server stopped. */
  readonly acknowledgedMeanwhile: number
  /** Milliseconds of the refreshes: half of them, 99 %, all. */
  readonly refreshMs: readonly number[]
  /** Migrations that the new server applied while the old one served. */
  readonly migrated: number
  /** Migrations that `admin migrate --finish` applied. */
  readonly finished: readonly string[]
}

const main = (folder: string) => join(folder, "server/node/main.ts")
const here = join(import.meta.dirname, "../..")

/**
 * @param writes Acknowledged in each of the seven phases.
 * @param writerCount Fewer writers leave more processor time to servers that start.
 * @returns Undefined if there is no PostgreSQL, no nginx or no openssl.
 */
export async function upgrade(writes: number, writerCount = 8): Promise<UpgradeFigures | undefined> {
  const certificate = hasProxy("nginx") ? makeCertificate() : undefined
  const postgres = certificate && (await startPostgres())
  if (certificate === undefined || postgres === undefined) return undefined
  const release = await previousRelease()
  const folder = mkdtempSync(join(tmpdir(), "signet-upgrade-"))
  const ports = { upstream: await freePort(), second: await freePort() }
  const proxy = await startProxy("nginx", { ...ports, folder, certificate })
  // Both servers have one issuer, which is not the proxy: the old release's stand-in provider asks its issuer over HTTP.
  const issuer = `http://127.0.0.1:${ports.upstream}`
  const environment = { ...settings(postgres.url), SIGNET_ISSUER: issuer, SIGNET_TRUSTED_HOPS: "1" }
  const running = new Set<RunningProgram>()
  const start = async (of: string, port: number) => {
    const program = await startProgram({ ...environment, PORT: String(port) }, main(of))
    running.add(program)
    return program
  }
  const stops: number[] = []
  let acknowledgedMeanwhile = 0
  const failed = { oldStopped: 0, newStopped: 0, otherwise: 0 }
  try {
    const old = await start(release.folder, ports.upstream)
    const signIn = (index: number) => signInAtStandIn(old.url, index)
    const writers = await startWriters(proxy.url, writerCount, signIn, certificate.cert)
    const failures = () => Object.values(writers.failures()).reduce((sum, count) => sum + count, 0)
    const stop = async (program: RunningProgram, release: "oldStopped" | "newStopped") => {
      running.delete(program)
      // nginx passes over a server for a second after it refused a connection, as the other one did before it started.
      await sleep(2_000)
      const [startedAt, before, failedBefore] = [performance.now(), writers.acknowledged(), failures()]
      await program.end("SIGTERM")
      stops.push(Math.round(performance.now() - startedAt))
      acknowledgedMeanwhile += writers.acknowledged() - before
      // Served by the other one.
      await writers.more(writes)
      failed[release] += failures() - failedBefore
    }
    await writers.more(writes)
    const next = await start(here, ports.second)
    const migrated = /"migrations":\[([^\]]*)\]/.exec(next.output())?.[1]?.split(",").length ?? 0
    await writers.more(writes)
    await stop(old, "oldStopped")
    // Back to the old release, on the new schema, and forward again.
    const again = await start(release.folder, ports.upstream)
    await writers.more(writes)
    await stop(next, "newStopped")
    await start(here, ports.second)
    await stop(again, "oldStopped")
    const { applied: finished } = (await administer(environment, "migrate", "--finish")) as { applied: string[] }
    await writers.more(writes)
    await writers.stop()
    failed.otherwise = failures() - failed.oldStopped - failed.newStopped
    const { db, close } = openPostgres(postgres.url, { maxConnections: 1 })
    const compared = await compareWithDatabase(db, writers)
    await close()
    return {
      ...{ acknowledged: writers.acknowledged(), failures: writers.failures(), ...compared },
      ...{ stops, failed, acknowledgedMeanwhile, refreshMs: quantiles(writers.durations()), migrated, finished },
    }
  } finally {
    await Promise.all([...running].map((program) => program.end("SIGTERM")))
    await proxy.stop()
    await postgres.stop()
    release.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}

function quantiles(values: readonly number[]): readonly number[] {
  const sorted = values.toSorted((a, b) => a - b)
  return [0.5, 0.99, 1].map((share) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0))
}
