// The clock of the server jumps an hour forward and back, by libfaketime. The clocks of clients and of PostgreSQL do not.
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { freePort } from "../support/free-port.ts"
import { textsIn } from "../support/messaging/messengers.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { startProgram } from "../support/program.ts"
import { settings } from "./failover.ts"
import { administer, messengersOf } from "./program-clients.ts"
import { compareWithDatabase, startWriters } from "./writers.ts"

export interface ClockFigures {
  readonly acknowledged: number
  readonly failures: Readonly<Record<string, number>>
  readonly lost: number
  readonly extra: number
  /** The answer to an access token from before each jump: forward, back. */
  readonly earlierTokens: readonly number[]
  /** Messages that a client stored, because the server refused its proof of an hour ago. */
  readonly queued: number
  /** Messages that both clients of a conversation have at the end: each sends one after each jump. */
  readonly messages: number
  readonly auditIsWhole: boolean
}

const library = findLibrary()
export const hasFaketime = library !== undefined

function findLibrary(): string | undefined {
  if (!existsSync("/usr/lib")) return undefined
  return readdirSync("/usr/lib")
    .map((folder) => join("/usr/lib", folder, "faketime/libfaketime.so.1"))
    .find((path) => existsSync(path))
}

const hour = 3_600

/**
 * @param writes Acknowledged before the first jump, and after each of two.
 * @returns Undefined if PostgreSQL or libfaketime is missing.
 */
export async function jumpingClock(writes: number): Promise<ClockFigures | undefined> {
  const postgres = hasFaketime ? await startPostgres() : undefined
  if (postgres === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), "signet-clock-"))
  const offset = join(folder, "offset")
  const jumpTo = (seconds: number) => writeFileSync(offset, `${seconds < 0 ? "" : "+"}${seconds}`)
  jumpTo(0)
  const environment = {
    ...settings(postgres.url),
    ...{ SIGNET_DATA: join(folder, "signet"), PORT: String(await freePort()) },
    // Rate limits count by the clock.
    SIGNET_LIMITS: JSON.stringify({
      windows: { refresh: { ip: { limit: 100_000 }, session: { limit: 10_000 } }, login: { ip: { limit: 1_000 } } },
    }),
  }
  try {
    const program = await startProgram({
      ...environment,
      ...{ LD_PRELOAD: library ?? "", FAKETIME_TIMESTAMP_FILE: offset, FAKETIME_CACHE_DURATION: "1" },
      // Timers keep their pace.
      ...{ DONT_FAKE_MONOTONIC: "1", FAKETIME_DONT_FAKE_MONOTONIC: "1" },
    })
    const messengers = messengersOf(program)
    try {
      const [ada, bob] = [await messengers.newcomer("ada"), await messengers.newcomer("bob")]
      const { id } = await ada.messenger.createDirectConversation(bob.person.userId)
      const writers = await startWriters(program.url, 8)
      await writers.more(writes)
      const earlierTokens: number[] = []
      let queued = 0
      for (const seconds of [hour, 0]) {
        const headers = { authorization: `Bearer ${ada.person.accessToken}` }
        jumpTo(seconds)
        while (Math.abs((await serverSeconds(program.url)) - Date.now() / 1_000 - seconds) > 60) await writers.more(1)
        earlierTokens.push((await fetch(`${program.url}/auth/session/me`, { headers })).status)
        await writers.more(writes)
        for (const [from, to] of [[ada, bob] as const, [bob, ada] as const]) {
          if (!(await isSent(from.messenger.send(id, new TextEncoder().encode(`at ${seconds}`))))) queued++
          await to.messenger.sync()
        }
      }
      for (const one of [ada, bob, ada]) await one.messenger.sync()
      const messages = Math.min((await textsIn(ada, id)).length, (await textsIn(bob, id)).length)
      await writers.stop()
      const { db, close } = openPostgres(postgres.url, { maxConnections: 1 })
      const compared = await compareWithDatabase(db, writers)
      await close()
      const audit = await administer(environment, "audit", "verify")
      return {
        acknowledged: writers.acknowledged(),
        failures: writers.failures(),
        ...compared,
        ...{ earlierTokens, queued, messages, auditIsWhole: (audit as { isWhole: boolean }).isWhole },
      }
    } finally {
      await messengers.close()
      await program.end("SIGTERM")
    }
  } finally {
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** False if the message is stored, and will be sent later. */
async function isSent(sending: Promise<unknown>): Promise<boolean> {
  try {
    await sending
    return true
  } catch (error) {
    if (error instanceof Error && "reason" in error && error.reason === "QUEUED") return false
    throw error
  }
}

/** The server's time, by the Date of an answer. */
async function serverSeconds(url: string): Promise<number> {
  return Date.parse((await fetch(`${url}/livez`)).headers.get("date") ?? "") / 1_000
}
