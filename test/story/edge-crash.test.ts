// The Worker keeps each acknowledged write when its process or one of its objects ends.
import { join } from "node:path"
import { createConnectTransport } from "@connectrpc/connect-node"
import type { SubscribeResponse } from "@signet/proto/messaging/v1/conversation_service"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { http1 } from "../conformance/protocols.ts"
import { type ServedEdge, serveEdge } from "../support/edge.ts"
import { effort } from "../support/effort.ts"
import { callsOver } from "../support/messaging/calls.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { developmentWorld } from "../support/messaging/world.ts"
import { comeBack, untilGone, type Writer, writersIn } from "../support/messaging/writers.ts"
import { numbers, seed } from "../support/random.ts"

/** Selects the moment of each kill. */
const random = numbers(seed)

/** Only the long form runs it, because starting many programs takes long. */
const isShort = effort(true, false, false)

vi.setConfig({ testTimeout: effort(120_000, 900_000, 7_200_000), hookTimeout: 120_000 })

const entry = join(import.meta.dirname, "../../server/edge/worker/testing/evictable/worker.ts")
let served: ServedEdge
beforeAll(async () => {
  served = await serveEdge({ entry })
})
afterAll(() => served?.close())

const transport = () => createConnectTransport({ baseUrl: served.url, ...http1, useBinaryFormat: true })

/** Kills the runtime after so many answers, and restarts it on its stored data. */
async function killAtWork(writers: readonly Writer[], answers: number): Promise<void> {
  const warm = Promise.withResolvers<void>()
  let left = answers
  const working = untilGone(writers, () => {
    left--
    if (left === 0) warm.resolve()
  })
  await Promise.race([warm.promise, working])
  await new Promise((resolve) => setTimeout(resolve, random(100)))
  process.kill(served.edge.pid, "SIGKILL")
  await served.edge.kill()
  await working
  await served.edge.again()
}

test.skipIf(isShort)(
  "killed at random under eight writers, it has each acknowledged write once and without a gap",
  async () => {
    const writers = await writersIn(developmentWorld(served.url, served), transport(), 8)
    for (let round = 0; round < effort(1, 8, 200); round++) {
      await killAtWork(writers, 40)
      await comeBack(writers)
    }
    expect(writers.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0)).toBeGreaterThan(40)
  },
)

async function pair(): Promise<[TestDevice, TestDevice]> {
  const world = developmentWorld(served.url, served)
  const one = await newDevice(transport(), await world.newUser())
  const two = await newDevice(transport(), await world.newUser())
  for (const device of [one, two]) {
    await device.register()
    await device.upload(2)
  }
  const { id } = await one.createGroup([two.userId])
  await two.join()
  expect(two.room(id).isMember).toBe(true)
  return [one, two]
}

interface Listener {
  /** The newest sequence number that was sent. */
  head(): bigint
  ended: Promise<unknown>
  close(): void
}

function listen(device: TestDevice): Listener {
  const stop = new AbortController()
  let head = 0n
  const hear = ({ event }: SubscribeResponse) => {
    if (event.case === "envelopeAvailable" && event.value.headSeq > head) head = event.value.headSeq
  }
  const { conversations } = callsOver(transport(), device.credentials)
  const ended = (async () => {
    for await (const event of conversations.subscribe({}, { signal: stop.signal })) hear(event)
  })().catch((error: unknown) => error)
  return { head: () => head, ended, close: () => stop.abort() }
}

const evict = (kind: string, name: string) => fetch(`${served.url}/evict/${kind}/${name}`, { method: "POST" })

// No message tells a stream that its device's object lost its memory: it pings every two seconds, and notices within
// six.
test.skipIf(isShort).each(["CONVERSATIONS", "DEVICES"])(
  "a stream continues when its object of %s loses its memory, and the cursor finds the writes in between",
  async (kind) => {
    const [one, two] = await pair()
    const [room] = one.rooms.values()
    if (room === undefined) throw new Error("no room")
    await one.send(room, "before")
    const ear = listen(two)
    await expect.poll(ear.head).toBe(2n)
    const rounds = effort(1, 3, 50)
    for (let round = 0; round < rounds; round++) {
      await evict(kind, kind === "DEVICES" ? two.id : room.id)
      const { seq } = await one.send(room, `after ${round}`)
      await expect.poll(ear.head).toBe(seq)
    }
    ear.close()
    // An acknowledged cursor is stored in durable storage.
    const cursor = { conversationId: room.id, processedSeq: 1n, processedEpoch: 1n }
    await two.calls.conversations.ackMessages(cursor)
    await evict(kind, kind === "DEVICES" ? two.id : room.id)
    const { conversation } = await two.calls.conversations.getConversation({ conversationId: room.id })
    expect(conversation?.cursor).toMatchObject({ processedSeq: 1n })
    await two.sync(two.room(room.id))
    expect(two.room(room.id).seq).toBe(2n + BigInt(rounds))
  },
)

test.skipIf(isShort)("a stream that ends with the runtime is reopened, and delivers the missed writes", async () => {
  const [one, two] = await pair()
  const [room] = one.rooms.values()
  if (room === undefined) throw new Error("no room")
  const before = listen(two)
  await one.send(room, "one")
  await expect.poll(before.head).toBe(2n)
  process.kill(served.edge.pid, "SIGKILL")
  await served.edge.kill()
  expect(await before.ended).toBeInstanceOf(Error)
  await served.edge.again()
  await one.send(room, "two")
  const after = listen(two)
  await expect.poll(after.head).toBe(3n)
  after.close()
  await two.sync(two.room(room.id))
  expect(two.room(room.id).read.map(({ text }) => text)).toEqual(["one", "two"])
})
