// Both backends of messaging in one run: the same calls over the same protocol to the Node server on a PostgreSQL that
// writes to disk, and to the Worker on workerd, which always does. A ratio above 1 is in the Worker's favour. What else is
// there: how long each takes to be ready again, and what of the platform's size limit the Worker uses.
import { mkdtempSync, rmSync } from "node:fs"
import { Agent } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Transport } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"
import { sql } from "kysely"
import { maxGzipBytes } from "../../server/edge/node/build.ts"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { serveEdge, workerBundle } from "../support/edge.ts"
import { freePort } from "../support/free-port.ts"
import { newClaimId } from "../support/messaging/committing.ts"
import type { TestDevice } from "../support/messaging/device.ts"
import { developmentWorld, type World } from "../support/messaging/world.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { type RunningProgram, startProgram } from "../support/program.ts"
import { appender, commitTo, inBatches, newcomer } from "./messaging/cast.ts"
import { heardOn } from "./messaging/fan-out.ts"
import { type Contender, measure, quantiles, workers } from "./messaging/measure.ts"

const durable = { fsync: "on", synchronous_commit: "on", full_page_writes: "on", shared_buffers: "256MB" }

/** What the platform takes of a Worker, and what we allow ourselves. */

export const sizes = {
  usual: { rounds: 3, seconds: 2, streams: 64 },
  smallest: { rounds: 1, seconds: 0.1, streams: 8 },
}

interface Row {
  readonly name: string
  readonly postgres: number
  readonly worker: number
  readonly unit: string
  /** Above 1 when the Worker is better. */
  readonly ratio: number
  readonly postgresP50Ms?: number
  readonly workerP50Ms?: number
}

interface Backend {
  readonly world: World
  readonly transport: Transport
  /** Ends it as a crash would, and waits until it answers again. */
  readonly again: () => Promise<void>
}

export async function run({ rounds, seconds, streams }: typeof sizes.usual): Promise<Row[]> {
  const closing: (() => unknown)[] = []
  try {
    const postgres = await startPostgres(durable)
    if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
    closing.push(() => postgres.stop())
    const left = await onPostgres(await newDatabase(postgres.url, "signet"), closing)
    // The Worker's auth service has the same PostgreSQL.
    const right = await onWorker(await newDatabase(postgres.url, "auth"), closing)
    const [mine, yours] = [await contendersOf("PostgreSQL", left), await contendersOf("the Worker", right)]
    // In turn, so that noise hits both.
    const turns = mine.flatMap((one, i) => [one, yours[i]].filter((each) => each !== undefined))
    const rows = await measure(turns, rounds, seconds)
    const measured = mine.map(({ name }, i): Row => {
      const [a, b] = [rows[2 * i], rows[2 * i + 1]]
      const [postgres, worker] = [a?.perSecond ?? Number.NaN, b?.perSecond ?? Number.NaN]
      const p50 = { postgresP50Ms: a?.p50Ms ?? Number.NaN, workerP50Ms: b?.p50Ms ?? Number.NaN }
      return { name: name.split(": ")[1] ?? name, postgres, worker, unit: "/s", ratio: worker / postgres, ...p50 }
    })
    return [...measured, await fannedOut(left, right, streams), await startedAgain(left, right), await size()]
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

async function newDatabase(url: string, name: string): Promise<string> {
  const { db, close } = openPostgres(url, { maxConnections: 1 })
  await sql`create database ${sql.ref(name)}`.execute(db)
  await close()
  return Object.assign(new URL(url), { pathname: `/${name}` }).href
}

async function onPostgres(databaseUrl: string, closing: (() => unknown)[]): Promise<Backend> {
  const folder = mkdtempSync(join(tmpdir(), "signet-bench-"))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  const settings = {
    SIGNET_PROFILE: "development",
    SIGNET_LIMITS: "off",
    DATABASE_URL: databaseUrl,
    SIGNET_DATA: folder,
    PORT: String(await freePort()),
  }
  let program: RunningProgram = await startProgram(settings)
  closing.push(() => program.end("SIGTERM"))
  return {
    world: developmentWorld(program.url),
    transport: over(program.url),
    async again() {
      await program.end("SIGKILL")
      program = await startProgram(settings)
    },
  }
}

async function onWorker(databaseUrl: string, closing: (() => unknown)[]): Promise<Backend> {
  const served = await serveEdge({ databaseUrl })
  closing.push(() => served.close())
  return {
    world: developmentWorld(served.url, served),
    transport: over(served.url),
    async again() {
      await served.edge.kill()
      await served.edge.again()
    },
  }
}

/** Both speak this one, without anything in between. */
function over(baseUrl: string): Transport {
  const agent = new Agent({ keepAlive: true, timeout: 3_000 })
  return createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true, nodeOptions: { agent } })
}

async function contendersOf(name: string, { world, transport }: Backend): Promise<Contender[]> {
  const devices = await inBatches(workers, () => newcomer(world, transport, 4))
  const targets = await inBatches(10, () => newcomer(world, transport, 200))
  const [first, ...others] = devices
  if (first === undefined) throw new Error("nobody calls")
  const { id } = await first.createGroup(others.map(({ userId }) => userId))
  for (const other of others) await other.join()
  const toOne = await Promise.all(devices.map((device) => appender(device, device.room(id))))
  // Need not be there: one package of it is good for all.
  const peer = await newcomer(world, transport)
  await peer.upload(1, { isLastResort: true })
  const make = (i: number) => (devices[i] ?? first).createGroup([peer.userId])
  const own = await inBatches(workers, make)
  const toOwn = await Promise.all(own.map((room, i) => appender(devices[i] ?? first, room)))
  const committed = await inBatches(workers, make)
  const fetch = (device: TestDevice | undefined) =>
    device?.calls.conversations.listMessages({ conversationId: id, afterSeq: 1n, limit: 50 })
  let turn = 0
  const claim = (device: TestDevice | undefined) => {
    const userIds = [targets[turn++ % targets.length]?.userId ?? ""]
    return device?.calls.keyPackages.claimKeyPackages({ claimId: newClaimId(), conversationId: id, userIds })
  }
  return [
    { name: `${name}: appends to one conversation`, act: async (worker) => toOne[worker]?.() },
    { name: `${name}: appends, each to its own conversation`, act: async (worker) => toOwn[worker]?.() },
    {
      name: `${name}: commits, each to its own conversation`,
      act: async (worker) => {
        const [device, room] = [devices[worker], committed[worker]]
        if (device !== undefined && room !== undefined) await commitTo(device, room)
      },
    },
    { name: `${name}: claims of one key package`, act: async (worker) => claim(devices[worker]), most: 450 },
    { name: `${name}: fetches of 50 envelopes`, act: async (worker) => fetch(devices[worker]) },
  ]
}

async function fannedOut(left: Backend, right: Backend, streams: number): Promise<Row> {
  const heard = async ({ world, transport }: Backend) =>
    quantiles(await heardOn(world, { streams, appends: 20, open: () => transport })).p50Ms
  const [postgres, worker] = [await heard(left), await heard(right)]
  return { name: `an append until ${streams} streams heard`, postgres, worker, unit: "ms", ratio: postgres / worker }
}

async function startedAgain(left: Backend, right: Backend): Promise<Row> {
  const timed = async ({ again, world, transport }: Backend) => {
    const began = performance.now()
    await again()
    await newcomer(world, transport)
    return performance.now() - began
  }
  const [postgres, worker] = [await timed(left), await timed(right)]
  return { name: "from a kill to a registered device", postgres, worker, unit: "ms", ratio: postgres / worker }
}

/** @throws Error when the bundle has outgrown what it may weigh. */
async function size(): Promise<Row> {
  const { gzipBytes } = await workerBundle()
  if (gzipBytes > maxGzipBytes) throw new Error(`the bundle has ${gzipBytes} bytes, and may have ${maxGzipBytes}`)
  return {
    name: "the bundle, of what it may weigh",
    postgres: maxGzipBytes / 1_024,
    worker: gzipBytes / 1_024,
    unit: "KiB gzip",
    ratio: maxGzipBytes / gzipBytes,
  }
}
