// Signet with one, two and four workers beside oidc-provider with its memory adapter, in one run: calls, processor time
// and memory. The workers are the program of `npm start`, in the production profile on one durable PostgreSQL.
// Contenders take turns, and each number is the median of the rounds.
import { app } from "@signet/kernel/testing/records"
import { parseConfig } from "../../server/node/config.ts"
import { createLog } from "../../server/node/log.ts"
import { startProgram as startInProcess } from "../../server/node/program.ts"
import { addMachine } from "../support/machines.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { startProgram } from "../support/program.ts"
import { machineLoad } from "./cpu/processor-time.ts"
import { processesOf, residentMegabytes, settle } from "./cpu/resident-memory.ts"
import { startOidcProvider } from "./peers/forked.ts"
import { callers, durable, type Measured, measureOnce, median } from "./peers/measure.ts"
import type { Peer } from "./peers/peer.ts"
import { postForm } from "./peers/post-form.ts"
import { basic } from "./token/measured.ts"

interface Row {
  readonly name: string
  readonly perSecond: number
  /** Calls for each second of processor time of the server's processes. */
  readonly perCoreSecond: number
  readonly p50Ms: number
  /** Proportional set size: before the first call, after the last one, and some seconds later. A supervisor counts. */
  readonly idleMB: number
  readonly loadedMB: number
  readonly restingMB: number
  readonly processes: number
  readonly load: number
}

export const sizes = {
  usual: { workers: [1, 2, 4], rounds: 5, seconds: 2, idleSeconds: 6 },
  smallest: { workers: [2], rounds: 1, seconds: 0.2, idleSeconds: 0 },
}

export async function run({ workers, rounds, seconds, idleSeconds }: typeof sizes.usual): Promise<Row[]> {
  const postgres = await startPostgres(durable)
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const closing: (() => unknown)[] = [() => postgres.stop()]
  try {
    const clients = await addClients(postgres.url)
    const peers: Peer[] = []
    for (const count of workers) peers.push(await startWorkers(postgres.url, count, clients))
    peers.push(await startOidcProvider({ databaseUrl: "", callers }))
    for (const { stop } of peers) closing.push(stop)
    const contenders = peers.flatMap((peer) => [...peer.works].map(([work, act]) => ({ work, act, peer })))
    await settle(idleSeconds)
    const idle = new Map(peers.map((peer) => [peer, residentMegabytes(peer.pid)]))
    const measured = contenders.map((): Measured[] => [])
    // The first round warms everything up and is not counted.
    for (let round = 0; round <= rounds; round++) {
      for (const [i, { work, act, peer }] of contenders.entries()) {
        await peer.prepare?.(work, seconds)
        const one = await measureOnce(act, { server: peer.pid, database: process.pid, seconds })
        if (round > 0) measured[i]?.push(one)
      }
    }
    const loaded = new Map(peers.map((peer) => [peer, residentMegabytes(peer.pid)]))
    await settle(idleSeconds)
    return contenders
      .map(({ work, peer }, i): Row => {
        const of = (value: (one: Measured) => number) => median((measured[i] ?? []).map(value))
        return {
          name: `${work}: ${peer.name}`,
          perSecond: of((one) => one.perSecond),
          perCoreSecond: of((one) => 1e6 / one.serverMicros),
          p50Ms: of((one) => one.p50Ms),
          idleMB: idle.get(peer) ?? Number.NaN,
          loadedMB: loaded.get(peer) ?? Number.NaN,
          restingMB: residentMegabytes(peer.pid),
          processes: processesOf(peer.pid).length,
          load: machineLoad(),
        }
      })
      .toSorted((a, b) => a.name.localeCompare(b.name))
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

const wide = { limit: 1_000_000 }
export const settings = (databaseUrl: string) => ({
  ...{ SIGNET_PROFILE: "production", DATABASE_URL: databaseUrl, SIGNET_ISSUER: "https://auth.example" },
  SIGNET_SEALING_KEY: Buffer.alloc(32, 2).toString("base64"),
  SIGNET_PEPPERS: `1:${Buffer.alloc(32, 1).toString("base64")}`,
  SIGNET_LIMITS: JSON.stringify({
    windows: { client_credentials: { ip: wide, client: wide }, introspect: { caller: wide } },
  }),
  ...{ PORT: "0", ADMIN_PORT: "0" },
})

interface Client {
  readonly headers: Readonly<Record<string, string>>
}

/** The owner of the audience, which may introspect, and a client for each caller. */
export async function addClients(
  databaseUrl: string,
): Promise<{ readonly owner: Client; readonly others: readonly Client[] }> {
  const config = parseConfig({ ...settings(databaseUrl), SIGNET_WORKERS: "1" })
  const { deps, close } = await startInProcess(config, createLog("silent"))
  await deps.store.transaction((tx) => tx.apps.putApp(app))
  const server = { app, deps, secrets: deps.secrets }
  const add = async (change: Parameters<typeof addMachine>[1]): Promise<Client> => {
    const { account, secret } = await addMachine(server, change)
    return { headers: basic(account.clientId, secret) }
  }
  const owner = await add({ ownedAudiences: ["svc-notes"], scopes: ["notes.read", "auth.introspect"] })
  const others: Client[] = []
  for (let i = 0; i < callers; i++) others.push(await add({}))
  await close()
  return { owner, others }
}

async function startWorkers(
  databaseUrl: string,
  workers: number,
  { owner, others }: Awaited<ReturnType<typeof addClients>>,
): Promise<Peer> {
  const program = await startProgram({ ...settings(databaseUrl), SIGNET_WORKERS: String(workers) })
  const name = `signet, ${workers} workers`
  const form = { grant_type: "client_credentials", audience: "svc-notes", scope: "notes.read" }
  const token = (caller: number) => postForm(`${program.url}/auth/token`, form, others[caller]?.headers ?? {})
  const tokens: string[] = []
  const introspect = async (caller: number) => {
    tokens[caller] ??= String((await token(caller)).access_token)
    const answer = await postForm(`${program.url}/auth/token/introspect`, { token: tokens[caller] }, owner.headers)
    if (answer.active !== true) throw new Error(`${name} does not know its token`)
  }
  return {
    name,
    pid: program.pid,
    works: new Map<string, (caller: number) => Promise<unknown>>([
      ["client_credentials", token],
      ["introspection", introspect],
    ]),
    stop: async () => void (await program.end("SIGTERM")),
  }
}
