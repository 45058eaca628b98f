// The sealing key and the pepper rotate by the steps of docs/how-to/rotate-secrets.md, under eight writers: each change
// of settings starts a new server and stops the one before. At the end neither old secret is in the settings.
import { openPostgres } from "../../server/store/postgres/open.ts"
import { freePort } from "../support/free-port.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { type RunningProgram, refusedProgram, startProgram } from "../support/program.ts"
import { settings } from "./failover.ts"
import { administer } from "./program-clients.ts"
import { compareWithDatabase, startWriters } from "./writers.ts"

export interface RotationFigures {
  readonly acknowledged: number
  readonly failures: Readonly<Record<string, number>>
  readonly lost: number
  readonly extra: number
  readonly auditIsWhole: boolean
  /** Servers that were started, one for each change of settings. */
  readonly starts: number
  /** The message of a server that starts with the retired sealing key. */
  readonly refusal: string
  readonly seconds: number
}

const key = (fill: number) => Buffer.alloc(32, fill).toString("base64")

/**
 * @param writes Acknowledged after each step.
 * @param writerCount Fewer writers leave more processor time to servers that start.
 * @returns Undefined if there is no PostgreSQL.
 */
export async function rotation(writes: number, writerCount = 8): Promise<RotationFigures | undefined> {
  const postgres = await startPostgres()
  if (postgres === undefined) return undefined
  const port = await freePort()
  const base = { ...settings(postgres.url), SIGNET_ISSUER: `http://127.0.0.1:${port}` }
  let current: { program: RunningProgram; environment: Readonly<Record<string, string>> } | undefined
  let starts = 0
  const startedAt = performance.now()
  const start = async (change: Readonly<Record<string, string>>) => {
    const environment = { ...base, ...change, PORT: starts === 0 ? String(port) : "0" }
    const before = current
    current = { program: await startProgram(environment), environment }
    starts++
    return { ...current, stopBefore: async () => before?.program.end("SIGTERM") }
  }
  try {
    const [old, next, pepper] = [key(7), key(8), key(9)]
    const first = await start({})
    const writers = await startWriters(first.program.url, writerCount)
    await writers.more(writes)
    const roll = async (change: Readonly<Record<string, string>>) => {
      const { program, environment, stopBefore } = await start(change)
      writers.moveTo(program.url)
      await writers.more(writes)
      await stopBefore()
      return environment
    }
    const both = await roll({ SIGNET_SEALING_KEY: old, SIGNET_SEALING_KEY_NEXT: next })
    await administer(both, "keys", "sealing", "rotate")
    await writers.more(writes)
    const only = await roll({ SIGNET_SEALING_KEY: next })
    await administer(only, "keys", "sealing", "finish")
    const secrets = { SIGNET_SEALING_KEY: next, SIGNET_PEPPERS: `2:${pepper},1:${old}` }
    await roll(secrets)
    // Each writer refreshes under the new pepper: the tokens of idle sessions would need the old one.
    await writers.each(1)
    const last = await roll({ ...secrets, SIGNET_PEPPERS: `2:${pepper}` })
    await writers.stop()
    const { stderr } = await refusedProgram({ ...last, SIGNET_SEALING_KEY: old, PORT: "0" })
    const { db, close } = openPostgres(postgres.url, { maxConnections: 1 })
    const compared = await compareWithDatabase(db, writers)
    await close()
    const audit = await administer(last, "audit", "verify")
    return {
      ...{ acknowledged: writers.acknowledged(), failures: writers.failures(), ...compared },
      ...{ auditIsWhole: (audit as { isWhole: boolean }).isWhole, starts },
      ...{ refusal: stderr.trim(), seconds: Math.round((performance.now() - startedAt) / 1_000) },
    }
  } finally {
    await current?.program.end("SIGTERM")
    await postgres.stop()
  }
}
