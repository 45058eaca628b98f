// How many people sign in and refresh a second on PostgreSQL, each as a ratio of a one-row UPDATE in the same run.
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fromJsonString } from "@bufbuild/protobuf"
import { type Client, createClient, createRouterTransport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node"
import { AuthService, type ExternalLoginRequest, ExternalLoginRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { Provider } from "@signet/proto/auth/v1/records"
import { sql } from "kysely"
import { parseConfig } from "../../server/node/config.ts"
import { createLog } from "../../server/node/log.ts"
import { startProgram as startHere } from "../../server/node/program.ts"
import { authService } from "../../server/rpc/auth/auth-service.ts"
import { errors } from "../../server/serving/interceptors/errors.ts"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { freePort } from "../support/free-port.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { startProgram } from "../support/program.ts"

export interface Row {
  readonly name: string
  readonly perSecond: number
  /** Of the one-row UPDATE. */
  readonly ratio: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Calls at the same time, each on a row or a session of its own. */
export const workers = 16
export const baseName = "one-row UPDATE"
/** What a database of value is run with. */
export const durable = { fsync: "on", synchronous_commit: "on", full_page_writes: "on", shared_buffers: "256MB" }

type Act = (worker: number) => Promise<unknown>

export const sizes = { usual: { rounds: 4, seconds: 1 }, smallest: { rounds: 1, seconds: 0.1 } }

/**
 * The server that is called over a network has a process of its own; the handlers without one share this process, as
 * the client always does. Contenders take turns, so that noise hits all alike.
 */
export async function run({ rounds, seconds }: typeof sizes.usual): Promise<Row[]> {
  const postgres = await startPostgres(durable)
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const folder = mkdtempSync(join(tmpdir(), "signet-bench-"))
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true }), () => postgres.stop()]
  try {
    const settings = {
      SIGNET_PROFILE: "development",
      SIGNET_LIMITS: "off",
      DATABASE_URL: postgres.url,
      SIGNET_DATA: folder,
      LOG_LEVEL: "info",
      ADMIN_PORT: "0",
    }
    const here = parseConfig({ ...settings, PORT: String(await freePort()) })
    const inProcess = await startHere(here, createLog("silent"))
    closing.push(() => inProcess.close())
    // The last to start is the one whose stand-in provider is asked.
    const served = await startProgram({ ...settings, PORT: String(await freePort()) })
    closing.push(() => served.end("SIGTERM"))
    const { db, close } = openPostgres(postgres.url, { maxConnections: workers })
    closing.push(close)
    await sql`create table bench_row (id integer primary key, n integer not null)`.execute(db)
    await sql`insert into bench_row select id, 0 from generate_series(0, ${sql.lit(workers - 1)}) as id`.execute(db)

    const baseUrl = served.url
    const routes = createRouterTransport((router) => router.service(AuthService, authService(inProcess.deps)), {
      router: { interceptors: [errors((fault) => console.error(fault))] },
    })
    const ways = {
      "in process": createClient(AuthService, routes),
      "Connect JSON": createClient(AuthService, createConnectTransport({ baseUrl, httpVersion: "1.1" })),
      gRPC: createClient(AuthService, createGrpcTransport({ baseUrl })),
    }
    const logins = loginPool(baseUrl)
    const contenders: [name: string, act: Act][] = [
      [baseName, (worker) => sql`update bench_row set n = n + 1 where id = ${worker}`.execute(db)],
    ]
    for (const [way, client] of Object.entries(ways)) {
      contenders.push([`refresh, ${way}`, await refresher(client, logins)])
    }
    for (const [way, client] of Object.entries(ways)) {
      contenders.push([`sign-in, ${way}`, async () => client.externalLogin(await logins.take())])
    }
    return await measure(contenders, rounds, seconds, logins)
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

interface Logins {
  take(): Promise<ExternalLoginRequest>
  /** Makes as many ahead as the next turn may take: making them is not what is measured. */
  fill(count: number): Promise<void>
}

/** Each sign-in needs an ID token of its own. Every fifth is of a newcomer. */
export function loginPool(url: string): Logins {
  const ready: ExternalLoginRequest[] = []
  let made = 0
  const make = async (): Promise<ExternalLoginRequest> => {
    const number = made++
    const email = number % 5 === 0 ? `new-${number}@example.com` : `known-${number % 200}@example.com`
    const body = JSON.stringify({ email })
    const response = await fetch(`${url}/dev/idp-a/login-request`, { method: "POST", body })
    // Over REST the path names the provider.
    return { ...fromJsonString(ExternalLoginRequestSchema, await response.text()), provider: Provider.IDP_A }
  }
  return {
    take: async () => ready.pop() ?? make(),
    async fill(count) {
      while (ready.length < count) ready.push(...(await Promise.all(Array.from({ length: workers }, make))))
    },
  }
}

async function refresher(client: Client<typeof AuthService>, logins: Logins): Promise<Act> {
  const tokens: string[] = []
  while (tokens.length < workers) tokens.push((await client.externalLogin(await logins.take())).refreshToken)
  return async (worker) => {
    const retryKey = randomBytes(16).toString("base64url")
    const { refreshToken } = await client.refresh({ refreshToken: tokens[worker] ?? "", retryKey })
    tokens[worker] = refreshToken
  }
}

export async function measure(
  contenders: readonly [name: string, act: Act][],
  rounds: number,
  seconds: number,
  logins: Logins,
): Promise<Row[]> {
  const times = new Map(contenders.map(([name]) => [name, { all: [] as number[], seconds: 0 }]))
  // The first round warms everything up and is not counted.
  for (let round = 0; round <= rounds; round++) {
    for (const [name, act] of contenders) {
      if (name.startsWith("sign-in")) await logins.fill(Math.ceil(seconds * 600))
      const began = performance.now()
      const latencies: number[] = []
      const work = async (worker: number) => {
        while (performance.now() - began < seconds * 1_000) {
          const startedMs = performance.now()
          await act(worker)
          latencies.push(performance.now() - startedMs)
        }
      }
      await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
      const known = times.get(name)
      if (round === 0 || known === undefined) continue
      known.seconds += (performance.now() - began) / 1_000
      for (const latency of latencies) known.all.push(latency)
    }
  }
  const rates = new Map([...times].map(([name, { all, seconds }]) => [name, all.length / seconds]))
  const base = rates.get(baseName) ?? Number.NaN
  return [...times].map(([name, { all }]) => {
    const sorted = all.toSorted((a, b) => a - b)
    const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
    const perSecond = rates.get(name) ?? Number.NaN
    return { name, perSecond, ratio: perSecond / base, p50Ms: at(0.5), p99Ms: at(0.99) }
  })
}
