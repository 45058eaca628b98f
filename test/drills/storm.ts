// Clients that connect at the same moment by the thousand, clients that send their headers byte by byte, and calls that
// find no connection to the database.
import { readFileSync } from "node:fs"
import { Agent, get } from "node:http"
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { run } from "../../server/store/postgres/sql.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"
import { settings } from "./failover.ts"
import { compareWithDatabase, signInAtStandIn, startWriters } from "./writers.ts"

export interface StormFigures {
  /** Clients that connected at once and got an answer, and the slowest answer. */
  readonly answered: number
  readonly slowestMs: number
  /** Slow clients whose connection the server cut, and after how long. */
  readonly cut: number
  readonly cutAfterMs: number
  /** Answers of /livez and of /readyz while no connection to the database was free. */
  readonly whileExhausted: { readonly livez: number; readonly livezMs: number; readonly readyz: number }
  /** From the end of that to the first acknowledged write. */
  readonly recoveredMs: number
  readonly failures: Readonly<Record<string, number>>
  readonly lost: number
  readonly extra: number
  /** Resident memory of the server: before, and at most. Megabytes. */
  readonly idleMegabytes: number
  readonly mostMegabytes: number
}

/** @returns Undefined if there is no PostgreSQL. */
export async function storm(clients: number, writes: number): Promise<StormFigures | undefined> {
  const postgres = await startPostgres()
  if (postgres === undefined) return undefined
  try {
    const program = await startProgram({
      ...settings(postgres.url),
      ...{ DATABASE_CONNECTIONS: "4", DATABASE_STATEMENT_SECONDS: "10" },
    })
    try {
      const idleMegabytes = residentMegabytes(program, "VmRSS")
      const writers = await startWriters(program.url, 8)
      await writers.more(writes)
      const crowd = await connectAtOnce(program.url, clients)
      await writers.more(writes)
      const slow = await sendSlowly(program.url, clients)
      await writers.more(writes)
      const { db, close } = openPostgres(postgres.url, { maxConnections: 1 })
      let whileExhausted = { livez: 0, livezMs: 0, readyz: 0 }
      let signIns: Promise<unknown> = Promise.resolve()
      await db.transaction().execute(async (trx) => {
        await run(trx, "lock table session in access exclusive mode", [])
        // Refreshes share a connection. Each sign-in waits for the lock on one of four connections, or for one.
        signIns = Promise.all(Array.from({ length: 8 }, (_, index) => signInAtStandIn(program.url, 100 + index)))
        await sleep(1_000)
        whileExhausted = await probe(program.url)
      })
      const freedAt = performance.now()
      await writers.more(1)
      const recoveredMs = Math.round(performance.now() - freedAt)
      await signIns
      await writers.more(writes)
      await writers.stop()
      const compared = await compareWithDatabase(db, writers)
      await close()
      return {
        ...{ ...crowd, ...slow, whileExhausted, recoveredMs },
        ...{ failures: writers.failures(), ...compared, idleMegabytes },
        mostMegabytes: residentMegabytes(program, "VmHWM"),
      }
    } finally {
      await program.end("SIGTERM")
    }
  } finally {
    await postgres.stop()
  }
}

const residentMegabytes = ({ pid }: RunningProgram, field: "VmRSS" | "VmHWM"): number =>
  Math.round(
    Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024,
  )

/** Each client has a connection of its own, and asks for the keys of tokens. */
async function connectAtOnce(url: string, clients: number) {
  const beganAt = performance.now()
  const ask = () =>
    new Promise<number>((resolve, reject) => {
      const agent = new Agent({ maxSockets: 1 })
      get(`${url}/.well-known/jwks.json`, { agent, headers: { connection: "close" } }, (response) => {
        response.resume().once("end", () => resolve(response.statusCode === 200 ? performance.now() - beganAt : 0))
      }).once("error", reject)
    })
  const answers = await Promise.allSettled(Array.from({ length: clients }, ask))
  const times = answers.flatMap((one) => (one.status === "fulfilled" && one.value > 0 ? [one.value] : []))
  return { answered: times.length, slowestMs: Math.round(Math.max(0, ...times)) }
}

/** Half of the clients send no byte, and half the start of a request without its end. */
async function sendSlowly(url: string, clients: number) {
  const { hostname, port } = new URL(url)
  const beganAt = performance.now()
  let cut = 0
  let lastMs = 0
  const ends: Promise<void>[] = []
  const sockets = Array.from({ length: clients }, (_, index): Socket => {
    const socket = connect(Number(port), hostname)
    socket.on("error", () => undefined)
    if (index % 2 === 0) socket.write("GET /livez HTTP/1.1\r\nx-slow: ")
    const ended = new Promise<void>((resolve) => {
      socket.resume().once("close", () => {
        cut++
        lastMs = performance.now() - beganAt
        resolve()
      })
    })
    ends.push(ended)
    return socket
  })
  const drip = setInterval(() => {
    for (const [index, socket] of sockets.entries()) if (index % 2 === 0 && socket.writable) socket.write("a")
  }, 1_000)
  const limit = sleep(120_000, undefined, { ref: false })
  await Promise.race([Promise.all(ends), limit])
  clearInterval(drip)
  const count = cut
  for (const socket of sockets) socket.destroy()
  return { cut: count, cutAfterMs: Math.round(lastMs) }
}

async function probe(url: string) {
  const beganAt = performance.now()
  const livez = (await fetch(`${url}/livez`)).status
  const livezMs = Math.round(performance.now() - beganAt)
  return { livez, livezMs, readyz: (await fetch(`${url}/readyz`)).status }
}
