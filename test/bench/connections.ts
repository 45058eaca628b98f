// One server with a number of open connections of HTTP/1.1: introspections by 16 callers that take the connections in
// turn, and memory. The server has the release's modules, in the production profile on a durable PostgreSQL.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { Agent, request } from "node:http"
import { join } from "node:path"
import { buildServer } from "../../scripts/packages/programs.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { startProgram } from "../support/program.ts"
import { machineLoad } from "./cpu/processor-time.ts"
import { residentMegabytes, settle } from "./cpu/resident-memory.ts"
import { inBatches } from "./messaging/cast.ts"
import { durable, type Measured, measureOnce, median } from "./peers/measure.ts"
import { postForm } from "./peers/post-form.ts"
import { addClients, settings } from "./workers.ts"

interface Row {
  readonly connections: number
  readonly perSecond: number
  /** Calls for each second of processor time of the server. */
  readonly perCoreSecond: number
  readonly p50Ms: number
  /** Proportional set size: of the server before its first call, with all connections open, and after the calls. */
  readonly idleMB: number
  readonly openMB: number
  readonly loadedMB: number
  readonly load: number
}

/** `built` 0 runs the sources of this clone, which need no build. */
export const sizes = {
  usual: { connections: [10, 100, 1_000, 5_000], rounds: 5, seconds: 3, built: 1, idleSeconds: 6 },
  smallest: { connections: [2], rounds: 1, seconds: 0.2, built: 0, idleSeconds: 0 },
}

export async function run({ connections, rounds, seconds, built, idleSeconds }: typeof sizes.usual): Promise<Row[]> {
  const postgres = await startPostgres(durable)
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const modules = built === 1 ? await buildModules() : undefined
  try {
    const clients = await addClients(postgres.url)
    const rows: Row[] = []
    for (const count of connections) rows.push(await measure(count))
    return rows

    async function measure(count: number): Promise<Row> {
      const program = await startProgram({ ...settings(postgres?.url ?? ""), SIGNET_WORKERS: "1" }, modules?.script)
      await settle(idleSeconds)
      const idleMB = residentMegabytes(program.pid)
      const agents = Array.from({ length: count }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
      try {
        await inBatches(count, (index) => call(`${program.url}/livez`, agents[index]), 16)
        const openMB = residentMegabytes(program.pid)
        const form = { grant_type: "client_credentials", audience: "svc-notes", scope: "notes.read" }
        const granted = await postForm(`${program.url}/auth/token`, form, clients.others[0]?.headers ?? {})
        const body = new URLSearchParams({ token: String(granted.access_token) }).toString()
        const headers = { ...clients.owner.headers, "content-type": "application/x-www-form-urlencoded" }
        let next = 0
        const introspect = async () => {
          const agent = agents[next++ % count]
          const answer = await call(`${program.url}/auth/token/introspect`, agent, { headers, body })
          if (!answer.includes('"active":true')) throw new Error(`the server does not know its token: ${answer}`)
        }
        const measured: Measured[] = []
        // The first round warms everything up and is not counted.
        for (let round = 0; round <= rounds; round++) {
          const one = await measureOnce(introspect, { server: program.pid, database: process.pid, seconds })
          if (round > 0) measured.push(one)
        }
        const open = agents.filter(({ sockets, freeSockets }) => Object.keys({ ...sockets, ...freeSockets }).length > 0)
        if (open.length < count) throw new Error(`the server closed ${count - open.length} of ${count} connections`)
        const of = (value: (one: Measured) => number) => median(measured.map(value))
        return {
          connections: count,
          perSecond: of((one) => one.perSecond),
          perCoreSecond: of((one) => 1e6 / one.serverMicros),
          p50Ms: of((one) => one.p50Ms),
          ...{ idleMB, openMB, loadedMB: residentMegabytes(program.pid), load: machineLoad() },
        }
      } finally {
        for (const agent of agents) agent.destroy()
        await program.end("SIGTERM")
      }
    }
  } finally {
    modules?.remove()
    await postgres.stop()
  }
}

/** The server's package as it is published, below this clone's packages, which it finds its dependencies in. */
async function buildModules() {
  const cache = join(import.meta.dirname, "../../node_modules/.cache/signet")
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, "bench-server-"))
  const server = await buildServer(folder)
  return {
    script: join(server, "bin/signet-server.mjs"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

interface Post {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A call over the connection of an agent. @returns The body of the answer. */
function call(url: string, agent: Agent | undefined, post?: Post): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const options = { agent, method: post ? "POST" : "GET", headers: post?.headers ?? {} }
  const asked = request(url, options, (response) => {
    let text = ""
    response.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk
    })
    response.on("end", () => resolve(text))
    response.on("error", reject)
  })
  asked.on("error", reject).end(post?.body)
  return promise
}
