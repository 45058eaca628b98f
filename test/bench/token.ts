// Tokens for services and introspection, on PostgreSQL, against oidc-provider with its memory adapter in the same run,
// and each as a ratio of a one-row UPDATE. Every server has a process of its own.
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { Agent, request } from "node:http"
import { join } from "node:path"
import { sql } from "kysely"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { startPostgres } from "../support/postgres-server.ts"
import type { FormRequest, Started } from "./token/measured.ts"

export interface Row {
  readonly name: string
  readonly perSecond: number
  /** Of the server's process, a call; without the database's. */
  readonly cpuMicros?: number
  /** Of the one-row UPDATE's rate. */
  readonly ratio: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Calls at the same time, each of a client of its own. */
const callers = 16
const baseName = "one-row UPDATE"
const durable = { fsync: "on", synchronous_commit: "on", full_page_writes: "on", shared_buffers: "256MB" }

interface Contender {
  name: string
  act: (caller: number) => Promise<unknown>
  child?: ChildProcess
}

interface Measured {
  latencies: number[]
  seconds: number
  cpuMicros: number
}

export const sizes = { usual: { rounds: 4, seconds: 2 }, smallest: { rounds: 1, seconds: 0.1 } }

export async function run({ rounds, seconds }: typeof sizes.usual): Promise<Row[]> {
  const postgres = await startPostgres(durable)
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const closing: (() => unknown)[] = [() => postgres.stop()]
  try {
    const ours = await start("ours.ts", [postgres.url, String(callers)])
    closing.push(() => stop(ours.child))
    const theirs = await start("oidc-provider.ts", [String(callers)])
    closing.push(() => stop(theirs.child))
    const { db, close } = openPostgres(postgres.url, { maxConnections: callers })
    closing.push(close)
    await sql`create table bench_row (id integer primary key, n integer not null)`.execute(db)
    await sql`insert into bench_row select id, 0 from generate_series(0, ${sql.lit(callers - 1)}) as id`.execute(db)
    const agent = new Agent({ keepAlive: true, maxSockets: callers })
    closing.push(() => agent.destroy())

    const contenders: Contender[] = [
      { name: baseName, act: (caller) => sql`update bench_row set n = n + 1 where id = ${caller}`.execute(db) },
    ]
    for (const [name, { child, requests }, minted] of [
      ["signet", ours, "token"],
      ["oidc-provider", theirs, "opaque"],
    ] as const) {
      const of = (kind: string, caller: number) => requests[`${kind} ${caller}`] ?? missing(kind)
      const tokens = await Promise.all(
        Array.from({ length: callers }, async (_, i) => String((await post(agent, of(minted, i))).access_token)),
      )
      const askAbout = async (caller: number) => {
        const answer = await post(agent, of("introspect", caller), { token: tokens[caller] ?? "" })
        if (answer.active !== true) throw new Error(`${name} does not know its token`)
      }
      contenders.push({ name: `${name}, client_credentials`, child, act: (caller) => post(agent, of("token", caller)) })
      contenders.push({ name: `${name}, introspection`, child, act: askAbout })
    }
    return await measure(contenders, rounds, seconds)
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

async function start(file: string, args: string[]): Promise<Started & { child: ChildProcess }> {
  const child = fork(join(import.meta.dirname, "token", file), args)
  const [started] = await Promise.race([
    once(child, "message"),
    once(child, "exit").then(() => Promise.reject(new Error(`${file} did not start`))),
  ])
  return { ...started, child }
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit")
  child.disconnect()
  await ended
}

async function cpuMicrosOf(child: ChildProcess | undefined): Promise<number> {
  if (child === undefined) return 0
  const answered = once(child, "message")
  child.send("cpu")
  const [{ cpuMicros }] = await answered
  return cpuMicros
}

/** A form over a connection that stays open; fetch would take more of the processor than what is measured. */
function post(agent: Agent, to: FormRequest, more: Record<string, string> = {}): Promise<Record<string, unknown>> {
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>()
  const body = new URLSearchParams({ ...to.form, ...more }).toString()
  const headers = {
    ...to.headers,
    "content-type": "application/x-www-form-urlencoded",
    "content-length": Buffer.byteLength(body),
  }
  const sent = request(to.url, { method: "POST", agent, headers }, (response) => {
    let text = ""
    response.setEncoding("utf8").on("data", (part: string) => {
      text += part
    })
    response.on("end", () => {
      if (response.statusCode === 200) resolve(JSON.parse(text))
      else reject(new Error(`${response.statusCode} ${text}`))
    })
  })
  sent.on("error", reject)
  sent.end(body)
  return promise
}

/** Contenders take turns, so that noise hits all alike. The first round warms everything up and is not counted. */
async function measure(contenders: readonly Contender[], rounds: number, seconds: number): Promise<Row[]> {
  const measured = new Map(
    contenders.map(({ name }) => [name, { latencies: [], seconds: 0, cpuMicros: 0 } as Measured]),
  )
  for (let round = 0; round <= rounds; round++) {
    for (const { name, act, child } of contenders) {
      const latencies: number[] = []
      const cpuBefore = await cpuMicrosOf(child)
      const began = performance.now()
      const work = async (caller: number) => {
        while (performance.now() - began < seconds * 1_000) {
          const startedMs = performance.now()
          await act(caller)
          latencies.push(performance.now() - startedMs)
        }
      }
      await Promise.all(Array.from({ length: callers }, (_, caller) => work(caller)))
      const known = measured.get(name)
      if (round === 0 || known === undefined) continue
      known.seconds += (performance.now() - began) / 1_000
      known.cpuMicros += (await cpuMicrosOf(child)) - cpuBefore
      for (const latency of latencies) known.latencies.push(latency)
    }
  }
  const rateOf = (of: Measured | undefined) => (of ? of.latencies.length / of.seconds : Number.NaN)
  const base = rateOf(measured.get(baseName))
  return contenders.map(({ name, child }) => {
    const of = measured.get(name)
    const sorted = of?.latencies.toSorted((a, b) => a - b) ?? []
    const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
    return {
      name,
      perSecond: rateOf(of),
      ...(child && of ? { cpuMicros: of.cpuMicros / of.latencies.length } : {}),
      ratio: rateOf(of) / base,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
    }
  })
}

function missing(kind: string): never {
  throw new Error(`the server has no ${kind} request`)
}
