// The primary of PostgreSQL is killed under eight writers and open streams, and its synchronous standby is promoted.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { freePort } from "../support/free-port.ts"
import { startProgram } from "../support/program.ts"
import { hasHaproxy, startHaproxy } from "./haproxy.ts"
import { startPostgresPair } from "./postgres-pair.ts"
import { openStreams, type StreamFigures } from "./streams.ts"
import { compareWithDatabase, startWriters } from "./writers.ts"

interface Figures {
  readonly acknowledgedBefore: number
  readonly acknowledgedAfter: number
  readonly failedCalls: number
  readonly lost: number
  readonly extra: number
  /** From the end of the promotion to the first acknowledged write. */
  readonly recoveredMs: number
  /** From the kill to the first acknowledged write. */
  readonly unavailableMs: number
  readonly streams: StreamFigures
}

export const settings = (databaseUrl: string): Readonly<Record<string, string>> => {
  const key = Buffer.alloc(32, 7).toString("base64")
  return {
    ...{ DATABASE_URL: databaseUrl, PORT: "0", SIGNET_PROFILE: "development", SIGNET_LIMITS: "off" },
    ...{ SIGNET_SEALING_KEY: key, SIGNET_PEPPERS: `1:${key}`, LOG_LEVEL: "info" },
  }
}

/**
 * @param writes Acknowledged before the kill, and again after it.
 * @param through A proxy in front of both hosts, or one URL with both.
 * @returns Undefined if there is no PostgreSQL, or no HAProxy.
 */
export async function failover(writes: number, through?: "haproxy"): Promise<Figures | undefined> {
  const pair = through === "haproxy" && !hasHaproxy ? undefined : await startPostgresPair()
  if (pair === undefined) return undefined
  const [one, two] = pair.ports
  const proxy = through && (await startHaproxy([`127.0.0.1:${one}`, `127.0.0.1:${two}`]))
  const folder = mkdtempSync(join(tmpdir(), "signet-failover-"))
  try {
    const more = { PORT: String(await freePort()), SIGNET_DATA: folder }
    const program = await startProgram({ ...settings(proxy?.url ?? pair.url), ...more })
    const streams = await openStreams(program)
    try {
      const writers = await startWriters(program.url, 8)
      await writers.more(writes)
      pair.killPrimary()
      const killedAt = performance.now()
      const acknowledgedBefore = writers.acknowledged()
      // As a controller that needs three seconds to see the loss. Each reader asks within two seconds.
      await new Promise((resolve) => setTimeout(resolve, 3_000))
      await pair.promote()
      const promotedAt = performance.now()
      await writers.more(1)
      const firstAt = performance.now()
      await writers.more(writes)
      await writers.stop()
      const { db, close } = openPostgres(pair.url, { maxConnections: 1 })
      const compared = await compareWithDatabase(db, writers)
      const ofStreams = await streams.finish(db)
      await close()
      return {
        acknowledgedBefore,
        acknowledgedAfter: writers.acknowledged() - acknowledgedBefore,
        failedCalls: writers.all.reduce((sum, { failed }) => sum + failed, 0),
        ...compared,
        recoveredMs: Math.round(firstAt - promotedAt),
        unavailableMs: Math.round(firstAt - killedAt),
        streams: ofStreams,
      }
    } finally {
      await streams.close()
      await program.end("SIGTERM")
    }
  } finally {
    await proxy?.stop()
    await pair.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
