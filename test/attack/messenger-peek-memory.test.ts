// A push extension has little memory. A peek holds less than 20 MB above the memory from before it, whatever the service
// answers and whatever other members have sent.
import { setTimeout as sleep } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { create, toBinary } from "@bufbuild/protobuf"
import type { Transport } from "@connectrpc/connect"
import {
  ListConversationsResponseSchema,
  ListMessagesResponseSchema,
} from "@signet/proto/messaging/v1/conversation_service"
import { ConversationSchema, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { uncheckedEngine } from "../../clients/core/messaging/mls.ts"
import type { Primitives } from "../../clients/core/messaging/open.ts"
import { boundedTransport } from "../../clients/core/messaging/peek/bounded-transport.ts"
import { type Peeked, type PeekLimits, peekLimits, peekWith } from "../../clients/core/messaging/peek/peek.ts"
import type { MessagingStore } from "../../clients/core/messaging/store/store.ts"
import { isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

// Each step collects garbage twice.
vi.setConfig({ testTimeout: 600_000 })

const megabyte = 1_000_000
const allowed = 20 * megabyte

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

/** Bytes of the heap and of array buffers that are reachable. */
async function reachable(): Promise<number> {
  collect()
  // Array buffers are freed after the collection.
  await sleep(10)
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

let server: MessagingServer
let messengers: Messengers
let ann: OpenedMessenger
let ben: OpenedMessenger
const rooms: string[] = []

beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 5 })
  ann = await messengers.newcomer("ann")
  ben = await messengers.newcomer("ben")
  for (let count = 0; count < 3; count++) {
    rooms.push((await ann.messenger.createGroupConversation([ben.person.userId])).id)
  }
  await ben.messenger.sync()
  for (const id of rooms) {
    for (let count = 0; count < 7; count++) await ann.messenger.send(id, new Uint8Array(200_000).fill(count))
  }
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

type Hostile = (method: string, honest: () => Promise<Response>) => Promise<Response> | Response

const recorded = new Map<string, Uint8Array<ArrayBuffer>>()

/** The answer of the server, which is asked once for each call: later its own memory is not measured. */
async function honest(url: string | URL | Request, init: RequestInit | undefined): Promise<Response> {
  const key = `${url} ${Buffer.from(init?.body instanceof Uint8Array ? init.body : []).toString("hex")}`
  const bytes = recorded.get(key) ?? new Uint8Array(await (await fetch(url, init)).arrayBuffer())
  recorded.set(key, bytes)
  return answer(bytes)
}

/** Measures again if other tests' memory may have been freed meanwhile: a peek that needs more needs it each time. */
async function measured(...of: Parameters<typeof measuredOnce>): ReturnType<typeof measuredOnce> {
  for (let tries = 3; ; tries--) {
    const found = await measuredOnce(...of)
    if (found.peak < allowed || tries === 1) return found
  }
}

/** Peeks as ben without a time limit. @returns The result, and the most less the fewest bytes reachable at any step. */
async function measuredOnce(
  hostile: Hostile,
  limits: Partial<PeekLimits> = {},
  isRecording = false,
): Promise<{ peeked: Peeked; peak: number }> {
  // What others leave behind is freed at any time, so the fewest bytes may be those of a later step.
  let fewest = Number.POSITIVE_INFINITY
  let most = 0
  const look = async () => {
    if (isRecording) return
    const bytes = await reachable()
    fewest = Math.min(fewest, bytes)
    most = Math.max(most, bytes)
  }
  const send: typeof fetch = async (url, init) => {
    await look()
    const method = String(url).split("/").at(-1) ?? ""
    const { status, headers, body } = await hostile(method, () => honest(url, init))
    const looking = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      async transform(chunk, controller) {
        if (chunk.length >= chunkBytes) await look()
        controller.enqueue(chunk)
      },
    })
    return new Response(body?.pipeThrough(looking) ?? null, { status, headers })
  }
  const [options, primitives] = messengers.optionsFor(ben.person, ben)
  const store: MessagingStore = {
    ...ben.store,
    async read(space, wanted) {
      await look()
      return ben.store.read(space, wanted)
    },
  }
  const openEngine: Primitives["openEngine"] = async (of) => {
    const engine = uncheckedEngine(of)
    return {
      ...engine,
      async decrypt(...given) {
        const decrypted = await engine.decrypt(...given)
        await look()
        return decrypted
      },
    }
  }
  const bounded = boundedTransport(server.messagingUrl, send)
  const transport: Transport = {
    ...bounded,
    async unary(...call) {
      const decoded = await bounded.unary(...call)
      await look()
      return decoded
    },
  }
  await look()
  const peeked = await peekWith(
    { ...options, store, transport },
    { ...primitives, openEngine },
    { ...peekLimits, ms: 600_000, ...limits },
  )
  await look()
  return { peeked, peak: most - fewest }
}

const chunkBytes = 250_000

/** The bytes are the service's: only the chunks that the peek gets are new. */
function answer(bytes = new Uint8Array()): Response {
  let at = 0
  const body = new ReadableStream(
    {
      pull(controller) {
        if (at >= bytes.length) return controller.close()
        controller.enqueue(new Uint8Array(bytes.subarray(at, at + chunkBytes)))
        at += chunkBytes
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { headers: { "content-type": "application/proto" } })
}

/** Bytes of empty messages in field 1: two bytes each. */
const empties = (bytes: number) => new Uint8Array(bytes).map((_, at) => (at % 2 === 0 ? 0x0a : 0))

function endless(): Response {
  return new Response(
    new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(megabyte)) }, { highWaterMark: 0 }),
  )
}

/** A page that lists these conversations with a message, and another page after it. */
const listing = (ids: readonly string[], text = "") =>
  answer(
    toBinary(
      ListConversationsResponseSchema,
      create(ListConversationsResponseSchema, {
        conversations: ids.map((id) => create(ConversationSchema, { id, headSeq: 1_000n, creatorUserId: text })),
        nextPageToken: "more",
      }),
    ),
  )

/** Two bytes of memory for each character. */
const longText = toBinary(
  ListMessagesResponseSchema,
  create(ListMessagesResponseSchema, {
    envelopes: [create(EnvelopeSchema, { seq: 2n, senderDeviceId: `${"a".repeat(4 * megabyte)}€` })],
    headSeq: 2n,
  }),
)
const emptyConversations = empties(500_000)
const emptyMessages = empties(4 * megabyte)

const onlyIn =
  (method: string, hostile: () => Response): Hostile =>
  (called, honest) =>
    called === method ? hostile() : honest()

test.runIf(isLong)("a peek of 4 MB of messages in three conversations ends at its limit, below 20 MB", async () => {
  await measured((_, honest) => honest(), {}, true)
  const { peeked, peak } = await measured((_, honest) => honest())
  expect(peeked).toMatchObject({ is: "previews", hasMore: true })
  expect(peeked.is === "previews" && peeked.previews.length).toBeGreaterThanOrEqual(10)
  expect(peak).toBeGreaterThan(2 * megabyte)
  expect(peak).toBeLessThan(allowed)
})

const hostileAnswers: readonly [string, Hostile][] = [
  ["an endless list of conversations in one answer", onlyIn("ListConversations", endless)],
  ["an endless page of messages", onlyIn("ListMessages", endless)],
  ["empty conversations, two bytes each", onlyIn("ListConversations", () => answer(emptyConversations))],
  ["empty messages, two bytes each", onlyIn("ListMessages", () => answer(emptyMessages))],
  ["a page of messages with long texts", onlyIn("ListMessages", () => answer(longText))],
]

test.runIf(isLong).each(hostileAnswers)("%s ends a peek below 20 MB", async (_, hostile) => {
  const { peeked, peak } = await measured(hostile)
  expect(peeked).toEqual({ is: "newMessages" })
  expect(peak).toBeLessThan(allowed)
})

test.runIf(isLong)("a list of conversations without an end is read page by page, up to a limit", async () => {
  let pages = 0
  const unknown = Array.from({ length: 100 }, (_, at) => `cnv_${String(at).padStart(26, "0")}`)
  const { peeked, peak } = await measured(
    onlyIn("ListConversations", () => {
      pages += 1
      return listing(unknown, "a".repeat(4_000))
    }),
    { conversationPages: 8 },
  )
  expect(peeked).toEqual({ is: "previews", previews: [], hasMore: true })
  expect(pages).toBe(8)
  expect(peak).toBeLessThan(allowed)
})

test.runIf(isLong)("a conversation that is listed again and again is read once", async () => {
  const read: string[] = []
  const { peeked } = await measured(
    (method) => {
      read.push(method)
      return method === "ListConversations" ? listing(rooms.slice(0, 1)) : answer()
    },
    { conversationPages: 8 },
  )
  expect(peeked).toEqual({ is: "previews", previews: [], hasMore: true })
  expect(read.filter((method) => method === "ListMessages")).toHaveLength(1)
})
