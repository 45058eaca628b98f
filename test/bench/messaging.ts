// The messaging service on PostgreSQL, each rate as a ratio of a one-row UPDATE in the same run, and hints as a ratio of
// writes to bare streams. The server has a process of its own; the callers share this one, and so the machine.
// With --large the log grows to a million envelopes instead of a hundred thousand.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { sql } from "kysely"
import { openPostgres } from "../../server/store/postgres/open.ts"
import type { Database } from "../../server/store/postgres/sql.ts"
import { freePort } from "../support/free-port.ts"
import { newClaimId } from "../support/messaging/committing.ts"
import type { TestDevice } from "../support/messaging/device.ts"
import type { Room } from "../support/messaging/room.ts"
import { developmentWorld } from "../support/messaging/world.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { startProgram } from "../support/program.ts"
import { postmasterOf } from "./cpu/processor-time.ts"
import { appender, commitTo, inBatches, newcomer } from "./messaging/cast.ts"
import { fanOut } from "./messaging/fan-out.ts"
import { baseName, type Contender, measure, type Row, workers } from "./messaging/measure.ts"

const durable = { fsync: "on", synchronous_commit: "on", full_page_writes: "on", shared_buffers: "256MB" }

/** `log` is how long the log becomes, in envelopes, one length after the other. */
export const sizes = {
  usual: { rounds: 3, seconds: 2, conversations: 500, streams: 1_000, log: [10_000, 100_000] },
  smallest: { rounds: 1, seconds: 0.1, conversations: 32, streams: 8, log: [10_000] },
  large: { log: [100_000, 1_000_000] },
}

export async function run({ rounds, seconds, conversations, streams, log }: typeof sizes.usual): Promise<Row[]> {
  const postgres = await startPostgres(durable)
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const folder = mkdtempSync(join(tmpdir(), "signet-bench-"))
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true }), () => postgres.stop()]
  try {
    const program = await startProgram({
      SIGNET_PROFILE: "development",
      SIGNET_LIMITS: "off",
      DATABASE_URL: postgres.url,
      SIGNET_DATA: folder,
      PORT: String(await freePort()),
    })
    closing.push(() => program.end("SIGTERM"))
    const { db, close } = openPostgres(postgres.url, { maxConnections: workers })
    closing.push(close)
    const processes = { server: program.pid, database: await postmasterOf(db) }
    await sql`create table bench_row (id integer primary key, n integer not null)`.execute(db)
    await sql`insert into bench_row select id, 0 from generate_series(0, ${sql.lit(workers - 1)}) as id`.execute(db)

    const world = developmentWorld(program.url)
    const transport = createGrpcTransport({ baseUrl: program.url })
    const devices = await inBatches(workers, () => newcomer(world, transport, 4))
    const one = await oneRoom(devices)
    const peer = await newcomer(world, transport)
    const many = await manyRooms(devices, peer, conversations)
    const [first] = devices
    if (first === undefined) throw new Error("nobody calls")
    const target = await claimable(devices, await inBatches(10, () => newcomer(world, transport, 200)))

    const toOne = await Promise.all(devices.map((device) => appender(device, device.room(one.id))))
    const toMany = await Promise.all(many.map((rooms, i) => appendersOf(devices[i], rooms.slice(1))))
    const turns = new Array<number>(workers).fill(0)
    const contenders: Contender[] = [
      {
        name: baseName,
        act: (worker) => sql`update bench_row set n = n + 1 where id = ${worker}`.execute(db),
      },
      { name: "appends to one conversation", act: async (worker) => toOne[worker]?.() },
      {
        name: `appends to ${conversations} conversations`,
        act: async (worker) => {
          const all = toMany[worker] ?? []
          turns[worker] = (turns[worker] ?? 0) + 1
          await all[(turns[worker] ?? 0) % all.length]?.()
        },
      },
      {
        name: "commits, each to its own conversation",
        act: async (worker) => {
          const [device, room] = [devices[worker], many[worker]?.[0]]
          if (device !== undefined && room !== undefined) await commitTo(device, room)
        },
      },
      { name: "claims of one key package", act: target, most: 450 },
      { name: "fetches of 50 envelopes", act: (worker) => fetched(devices[worker], one.id, 1n) },
    ]
    const rows = await measure(contenders, rounds, seconds, processes)
    return [...rows, ...(await asTheLogGrows()), ...(await fanOut(world, { processes, streams, appends: 20 }))]

    /** The same appends and fetches, when the log has become long. */
    async function asTheLogGrows(): Promise<Row[]> {
      const grown: Row[] = []
      for (const size of log) {
        await growTo(db, one.id, size)
        const measured = await measure(
          [
            ...contenders.slice(0, 1),
            { name: `appends to a log of ${size}`, act: async (worker) => toOne[worker]?.() },
            { name: `fetches of 50 from the start of ${size}`, act: (worker) => fetched(devices[worker], one.id, 1n) },
            {
              name: `fetches of 50 from the end of ${size}`,
              act: (worker) => fetched(devices[worker], one.id, BigInt(size - 60)),
            },
          ],
          1,
          seconds,
          processes,
        )
        grown.push(...measured.slice(1))
      }
      return grown
    }
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

async function oneRoom(devices: readonly TestDevice[]): Promise<Room> {
  const [first, ...others] = devices
  if (first === undefined) throw new Error("nobody calls")
  const room = await first.createGroup(others.map(({ userId }) => userId))
  for (const other of others) await other.join()
  return room
}

/** Conversations of each device with one peer, which need not be there. */
async function manyRooms(devices: readonly TestDevice[], peer: TestDevice, count: number): Promise<Room[][]> {
  const each = Math.ceil(count / devices.length)
  await peer.upload(1, { isLastResort: true })
  const rooms: Room[][] = devices.map(() => [])
  for (let i = 0; i < each; i++) {
    await Promise.all(devices.map(async (device, j) => rooms[j]?.push(await device.createGroup([peer.userId]))))
  }
  return rooms
}

async function appendersOf(device: TestDevice | undefined, rooms: readonly Room[]) {
  if (device === undefined) return []
  return Promise.all(rooms.map((room) => appender(device, room)))
}

/** Claims from people in turn; nobody has more than two hundred packages. */
async function claimable(devices: readonly TestDevice[], targets: readonly TestDevice[]) {
  let turn = 0
  return async (worker: number) => {
    const device = devices[worker]
    const target = targets[turn++ % targets.length]
    const room = device?.rooms.values().next().value
    if (device === undefined || target === undefined || room === undefined) throw new Error("nobody to claim from")
    const claim = { claimId: newClaimId(), conversationId: room.id, userIds: [target.userId] }
    await device.calls.keyPackages.claimKeyPackages(claim)
  }
}

async function fetched(device: TestDevice | undefined, conversationId: string, afterSeq: bigint): Promise<void> {
  await device?.calls.conversations.listMessages({ conversationId, afterSeq, limit: 50 })
}

/** Fills the log in the database: what a year leaves behind, in a minute. */
async function growTo(db: Database, id: string, size: number): Promise<void> {
  await sql`
    insert into conversation_log (conversation_id, seq, epoch, kind, message, content_hash, sender_device_id,
      idempotency_key, accepted_at)
    select one.conversation_id, number, one.epoch, 'APPLICATION', one.message, sha256(number::text::bytea),
      one.sender_device_id, substring(sha256(('key ' || number)::bytea) for 16), one.accepted_at
    from (select * from conversation_log where conversation_id = ${id} and kind = 'APPLICATION'
        order by seq desc limit 1) as one,
      generate_series((select head_seq + 1 from conversation where id = ${id}), ${size}) as number`.execute(db)
  await sql`update conversation set head_seq = greatest(head_seq, ${size}) where id = ${id}`.execute(db)
  await sql`analyze conversation_log`.execute(db)
}
