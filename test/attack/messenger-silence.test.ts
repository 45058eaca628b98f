// A service that does not answer, that answers "later" for a year, whose streams go silent, or that sends without end.
// The messenger never waits forever and never runs the same work twice at a time. Once the service behaves again,
// everything continues.
import { create, type MessageShape } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { equalBytes } from "@signet/canonical/bytes"
import { ErrorInfoSchema, RetryInfoSchema } from "@signet/proto/google/rpc/error_details"
import {
  SubscribeResponse_EnvelopeAvailableSchema as EnvelopeAvailableSchema,
  SubscribeResponse_HeartbeatSchema as HeartbeatSchema,
  type SubscribeResponse,
  SubscribeResponseSchema,
} from "@signet/proto/messaging/v1/conversation_service"
import { afterAll, beforeAll, expect, test } from "vitest"
import { isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger, systemClock } from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
let ben: OpenedMessenger
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server)
  ben = await messengers.newcomer("ben")
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)
const textsIn = async ({ messenger }: OpenedMessenger, id: string) =>
  (await messenger.timeline(id)).flatMap((entry) =>
    entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
  )

/** Waits until the condition holds. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 5))
}

test.runIf(isLong)(
  "every call has a deadline, so a service that never answers blocks no call permanently",
  async () => {
    const limits = new Map<string, number | undefined>()
    const transport: Transport = {
      ...messengers.transport,
      unary(method, signal, timeoutMs, ...rest) {
        limits.set(method.name, timeoutMs)
        return messengers.transport.unary(method, signal, timeoutMs, ...rest)
      },
    }
    const ann = await messengers.newcomer("ann", { transport })
    const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
    await ann.messenger.send(id, utf8("hello"))
    expect(limits.size).toBeGreaterThan(8)
    for (const [name, limit] of limits) {
      expect(limit, name).toBeGreaterThan(0)
      expect(limit, name).toBeLessThanOrEqual(120_000)
    }
  },
)

test.each([
  ["AppendMessage", (one: OpenedMessenger, id: string) => one.messenger.send(id, utf8("later"))],
  ["AuthorizeMembership", (one: OpenedMessenger, id: string) => one.messenger.removeMembers(id, [ben.person.userId])],
  [
    "CreateAttachment",
    (one: OpenedMessenger, id: string) => one.messenger.sendAttachment(id, new Blob([new Uint8Array(9)])),
  ],
])("a retry delay of a year for %s delays no call by a year", async (name, ask) => {
  let isLater = false
  const transport: Transport = {
    ...messengers.transport,
    unary(method, ...rest) {
      if (isLater && method.name === name) throw rateLimited(31_536_000n)
      return messengers.transport.unary(method, ...rest)
    },
  }
  const waits: number[] = []
  const after = (ms: number, run: () => void) => {
    waits.push(ms)
    return systemClock.after(0, run)
  }
  const ann = await messengers.newcomer(`ann and ${name}`, { transport, clock: { ...systemClock, after } })
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  waits.length = 0
  isLater = true
  await expect(ask(ann, id)).rejects.toMatchObject({ reason: expect.stringMatching("QUEUED|ATTACHMENT_INTERRUPTED") })
  expect(Math.max(0, ...waits)).toBeLessThanOrEqual(30_000)
  isLater = false
  await ann.messenger.send(id, utf8("now"))
  expect((await textsIn(ann, id)).at(-1)).toBe("now")
})

const rateLimited = (seconds: bigint) =>
  new ConnectError("later", Code.ResourceExhausted, undefined, [
    { desc: ErrorInfoSchema, value: { reason: "RATE_LIMITED", domain: "signet" } },
    { desc: RetryInfoSchema, value: { retryDelay: { seconds } } },
  ])

/** Returns a transport whose streams the test controls. */
function streaming(hints: (signal: AbortSignal | undefined) => AsyncIterable<SubscribeResponse>) {
  const seen = { opened: 0, asking: 0, most: 0, asked: new Map<string, number>() }
  const transport: Transport = {
    async unary(method, ...rest) {
      seen.asked.set(method.name, (seen.asked.get(method.name) ?? 0) + 1)
      seen.most = Math.max(seen.most, ++seen.asking)
      try {
        return await messengers.transport.unary(method, ...rest)
      } finally {
        seen.asking--
      }
    },
    async stream(method, signal) {
      seen.opened++
      const of = {
        stream: true,
        service: method.parent,
        method,
        header: new Headers(),
        trailer: new Headers(),
      } as const
      return { ...of, message: hints(signal) as AsyncIterable<MessageShape<typeof method.output>> }
    },
  }
  return { transport, seen }
}

const heartbeat = create(SubscribeResponseSchema, { event: { case: "heartbeat", value: create(HeartbeatSchema) } })

test.runIf(isLong)("a flood of hints is processed one at a time, with a bounded number of requests", async () => {
  const flood = 5_000
  let id = ""
  let isOver = false
  const { transport, seen } = streaming(async function* (signal) {
    const value = create(EnvelopeAvailableSchema, { conversationId: id, headSeq: 2n ** 64n - 1n })
    const hint = create(SubscribeResponseSchema, { event: { case: "envelopeAvailable", value } })
    for (let i = 0; i < flood; i++) yield hint
    isOver = true
    await new Promise((resolve) => signal?.addEventListener("abort", resolve))
  })
  const ann = await messengers.newcomer("ann in a flood", { transport })
  ;({ id } = await ben.messenger.createGroupConversation([ann.person.userId]))
  await ann.messenger.sync()
  await ben.messenger.send(id, utf8("in the flood"))
  seen.asked.clear()
  seen.most = 0
  const ending = new AbortController()
  const running = ann.messenger.run(ending.signal)
  await until(() => isOver && seen.asking === 0)
  await until(async () => (await textsIn(ann, id)).includes("in the flood"))
  expect(seen.asked.get("ListMessages")).toBeLessThan(100)
  expect(seen.most).toBeLessThan(10)
  ending.abort()
  await running
})

test.runIf(isLong)("a silent stream is opened again; a stream with a heartbeat is not", async () => {
  const timers: { ms: number; run: () => void; isOver: boolean }[] = []
  const clock = {
    ...systemClock,
    after(ms: number, run: () => void) {
      // Shorter timers have other purposes, such as the requests of a new device after 30 seconds.
      if (ms < 45_000) return systemClock.after(ms, run)
      const timer = { ms, run, isOver: false }
      timers.push(timer)
      return () => {
        timer.isOver = true
      }
    },
  }
  let beat = () => {}
  const { transport, seen } = streaming(async function* (signal) {
    for (;;) {
      await new Promise<void>((resolve, reject) => {
        beat = resolve
        signal?.addEventListener("abort", () => reject(new ConnectError("called off", Code.Canceled)))
      })
      yield heartbeat
    }
  })
  const ann = await messengers.newcomer("ann in silence", { transport, clock })
  const { id } = await ben.messenger.createGroupConversation([ann.person.userId])
  const ending = new AbortController()
  const running = ann.messenger.run(ending.signal)
  const waiting = () => timers.filter(({ isOver }) => !isOver)
  await until(() => waiting().length === 1)
  const [first] = waiting()
  // The service sends a heartbeat every 20 seconds.
  expect(first?.ms).toBeLessThanOrEqual(120_000)
  beat()
  await until(() => first?.isOver === true && waiting().length === 1)
  expect(seen.opened).toBe(1)
  await ben.messenger.send(id, utf8("that no hint told of"))
  waiting()[0]?.run()
  await until(() => seen.opened === 2)
  expect(await textsIn(ann, id)).toEqual(["that no hint told of"])
  ending.abort()
  await running
})

test.runIf(isLong)("a stream that ends after each hint is opened again with growing delays", async () => {
  const { transport, seen } = streaming(async function* () {
    yield heartbeat
  })
  const waits: number[] = []
  const after = (ms: number, run: () => void) => {
    if (ms <= 5_000) waits.push(ms)
    return systemClock.after(ms > 5_000 ? ms : 0, run)
  }
  const ann = await messengers.newcomer("ann again and again", { transport, clock: { ...systemClock, after } })
  const ending = new AbortController()
  const running = ann.messenger.run(ending.signal)
  await until(() => seen.opened === 12)
  ending.abort()
  await running
  expect(Math.max(...waits)).toBeGreaterThan(2_000)
})

test("a message that the service refuses permanently is reported and does not block others", async () => {
  let refused: Uint8Array | undefined
  const transport: Transport = {
    ...messengers.transport,
    async unary(method, signal, timeoutMs, header, input, ...rest) {
      const { payload } = Object(input)
      const isIt = refused !== undefined && method.name === "AppendMessage" && equalBytes(payload.value, refused)
      if (isIt) throw refusal("INVALID_FIELD")
      return messengers.transport.unary(method, signal, timeoutMs, header, input, ...rest)
    },
  }
  const ann = await messengers.newcomer("ann, refused", { transport })
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId])
  const failures: unknown[] = []
  ann.messenger.subscribe((event) => event.is === "failed" && failures.push(event.error))
  refused = (await ann.messenger.encryptMessage(id, utf8("refused"))).message
  await ann.messenger.send(id, utf8("after it"))
  expect(failures).toEqual([expect.objectContaining({ code: Code.InvalidArgument })])
  expect(await textsIn(ann, id)).toEqual(["after it"])
})

const refusal = (reason: string) =>
  new ConnectError("refused", Code.InvalidArgument, undefined, [
    { desc: ErrorInfoSchema, value: { reason, domain: "signet" } },
  ])
