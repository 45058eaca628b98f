// Idle streams on PostgreSQL: the processor time of server and database while nothing happens, a second and 10,000 streams.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { openPostgres } from "../../server/store/postgres/open.ts"
import { freePort } from "../support/free-port.ts"
import { callsOver } from "../support/messaging/calls.ts"
import { developmentWorld } from "../support/messaging/world.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { startProgram } from "../support/program.ts"
import { machineLoad, postmasterOf, processorMicros } from "./cpu/processor-time.ts"
import { inBatches, newcomer } from "./messaging/cast.ts"

interface Row {
  readonly name: string
  /** Milliseconds of processor time a second. */
  readonly serverMs: number
  readonly databaseMs: number
  readonly load: number
}

/** `perDevice` streams of each device, whose conversations have `perRoom` devices. `seconds` covers heartbeats. */
export const sizes = {
  usual: { streams: 2_000, perDevice: 4, perRoom: 50, seconds: 60 },
  smallest: { streams: 8, perDevice: 4, perRoom: 2, seconds: 1 },
  large: { streams: 10_000 },
}

export async function run({ streams, perDevice, perRoom, seconds }: typeof sizes.usual): Promise<Row[]> {
  const postgres = await startPostgres({ shared_buffers: "256MB", autovacuum: "on" })
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const folder = mkdtempSync(join(tmpdir(), "signet-bench-"))
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true }), () => postgres.stop()]
  try {
    const { db, close } = openPostgres(postgres.url, { maxConnections: 1 })
    closing.push(close)
    const database = await postmasterOf(db)
    const program = await startProgram({
      SIGNET_PROFILE: "development",
      SIGNET_LIMITS: "off",
      DATABASE_URL: postgres.url,
      SIGNET_DATA: folder,
      PORT: String(await freePort()),
    })
    closing.push(() => program.end("SIGTERM"))
    // Until the events of the setup are chained, and V8 has collected what the setup left behind.
    const settle = () => sleep(Math.min(45, seconds) * 1_000)
    const measure = async (name: string, count: number): Promise<Row> => {
      const before = [processorMicros(program.pid), processorMicros(database)] as const
      const began = performance.now()
      await sleep(seconds * 1_000)
      const perSecond = (now: number, then: number) => (now - then) / (performance.now() - began) / count
      return {
        name,
        serverMs: perSecond(processorMicros(program.pid), before[0]),
        databaseMs: perSecond(processorMicros(database), before[1]),
        load: machineLoad(),
      }
    }
    const world = developmentWorld(program.url)
    const transport = createGrpcTransport({ baseUrl: program.url })
    const devices = await inBatches(Math.ceil(streams / perDevice), () => newcomer(world, transport, 1))
    for (let first = 0; first < devices.length; first += perRoom) {
      const [creator, ...others] = devices.slice(first, first + perRoom)
      if (others.length > 0) await creator?.createGroup(others.map(({ userId }) => userId))
    }
    await settle()
    const without = await measure("no stream", 1)

    const controller = new AbortController()
    // A connection for fifty streams each, as a gateway in front has them.
    const connections = Array.from({ length: Math.ceil(streams / 50) }, () =>
      createGrpcTransport({ baseUrl: program.url }),
    )
    const open = async (i: number) => {
      const device = devices[Math.floor(i / perDevice)]
      const connection = connections[Math.floor(i / 50)]
      if (device === undefined || connection === undefined) throw new Error("a stream without a device")
      const { conversations } = callsOver(connection, device.credentials)
      const events = conversations.subscribe({}, { signal: controller.signal })[Symbol.asyncIterator]()
      await events.next()
      const listen = async () => {
        while ((await events.next()).done !== true);
      }
      listen().catch((error: unknown) => {
        if (!controller.signal.aborted) console.error(error)
      })
    }
    await inBatches(streams, open, 16)
    await settle()
    const scale = streams / 10_000
    const withStreams = await measure(`${streams} streams, for 10,000`, scale)
    controller.abort()
    return [
      without,
      {
        ...withStreams,
        serverMs: withStreams.serverMs - without.serverMs / scale,
        databaseMs: withStreams.databaseMs - without.databaseMs / scale,
      },
    ]
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}
