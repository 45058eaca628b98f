// A stream follows its reader: what a reader does not take is not produced, and a reader that leaves ends the method.
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { type ClientHttp2Stream, connect } from "node:http2"
import type { AddressInfo } from "node:net"
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import {
  ConversationService,
  SubscribeRequestSchema,
  SubscribeResponseSchema,
} from "@signet/proto/messaging/v1/conversation_service"
import { afterEach, describe, expect, test, vi } from "vitest"
import { type DirectWrite, kDirectWrite } from "../serving/direct-write.ts"
import { enveloped } from "../serving/unary-call.ts"
import { createHttp } from "./http.ts"
import { rpcPlugin } from "./rpc-plugin.ts"

const path = "/signet.messaging.v1.ConversationService/Subscribe"
const body = enveloped(0, toBinary(SubscribeRequestSchema, create(SubscribeRequestSchema)))
const event = { case: "welcomeAvailable", value: { welcomeId: "w".repeat(60_000), conversationId: "" } } as const
/** 12 MB, more than sockets and flow control hold. */
const all = 200

type Subscribe = NonNullable<Partial<ServiceImpl<typeof ConversationService>>["subscribe"]>

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function served(calls: "ours" | "connect") {
  const stream = { produced: 0, hasEnded: false }
  const port = await serving(calls, async function* () {
    try {
      for (; stream.produced < all; stream.produced++) yield { event }
    } finally {
      stream.hasEnded = true
    }
  })
  return { stream, port }
}

async function serving(calls: "ours" | "connect", subscribe: Subscribe): Promise<number> {
  const app = createHttp({ onFault: (fault) => expect.fail(String(fault)) })
  await app.register(rpcPlugin, {
    interceptors: [],
    onFault: (fault: unknown) => expect.fail(String(fault)),
    calls,
    routes: (router) => {
      router.service(ConversationService, { subscribe })
    },
  })
  await app.listen({ port: 0, host: "127.0.0.1" })
  closing.push(() => app.close())
  return (app.server.address() as AddressInfo).port
}

type Reader = IncomingMessage | ClientHttp2Stream
const readers: readonly [string, string, (port: number, type: string) => Promise<Reader>][] = [
  ["Connect over HTTP/1.1", "application/connect+proto", overHttp1],
  ["gRPC-Web over HTTP/1.1", "application/grpc-web+proto", overHttp1],
  ["Connect over HTTP/2", "application/connect+proto", overHttp2],
  ["gRPC over HTTP/2", "application/grpc", overHttp2],
]

async function overHttp1(port: number, type: string): Promise<Reader> {
  const asked = request({ port, host: "127.0.0.1", path, method: "POST", headers: { "content-type": type } })
  asked.on("error", () => undefined).end(body)
  const [response] = (await once(asked, "response")) as [IncomingMessage]
  return response.pause()
}

async function overHttp2(port: number, type: string): Promise<Reader> {
  const session = connect(`http://127.0.0.1:${port}`)
  closing.push(() => session.destroy())
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": type, te: "trailers" })
  stream.on("error", () => undefined).end(body)
  await once(stream, "response")
  return stream.pause()
}

/** The number of messages that were produced, once it no longer grows. */
async function standstill(stream: { readonly produced: number }): Promise<number> {
  let before = -1
  await vi.waitFor(
    () => {
      const isSame = before === stream.produced
      before = stream.produced
      expect(isSame).toBe(true)
    },
    { interval: 250, timeout: 10_000 },
  )
  return before
}

describe.each(["ours", "connect"] as const)("a stream that %s answers", (calls) => {
  test.each(readers)("waits for a slow reader, and loses nothing (%s)", async (_, type, open) => {
    const { stream, port } = await served(calls)
    const reader = await open(port, type)
    const produced = await standstill(stream)
    expect(produced).toBeGreaterThan(0)
    expect(produced).toBeLessThan(all)
    let bytes = 0
    for await (const chunk of reader) bytes += chunk.length
    expect(stream).toEqual({ produced: all, hasEnded: true })
    expect(bytes).toBeGreaterThan(all * 60_000)
  })

  test.each(readers)("ends once its reader has left (%s)", async (_, type, open) => {
    const { stream, port } = await served(calls)
    const reader = await open(port, type)
    await standstill(stream)
    reader.destroy()
    await vi.waitFor(() => expect(stream.hasEnded).toBe(true), { timeout: 10_000 })
    expect(stream.produced).toBeLessThan(all)
  })
})

describe("a message that is written directly", () => {
  const beat = create(SubscribeResponseSchema, { event: { case: "heartbeat", value: {} } })
  const large = create(SubscribeResponseSchema, { event })
  const pathOf = (context: HandlerContext) => context.values.get(kDirectWrite)
  const none: DirectWrite = { isOpen: false, write: () => expect.fail("there is no call") }

  /** The kinds of a stream's events; "end" for the frame that ends Connect and gRPC-Web. */
  async function kindsOf(reader: Reader): Promise<unknown[]> {
    const chunks: Buffer[] = []
    for await (const chunk of reader) chunks.push(chunk)
    const bytes = Buffer.concat(chunks)
    const kinds: unknown[] = []
    for (let at = 0; at < bytes.length; ) {
      const end = at + 5 + bytes.readUInt32BE(at + 1)
      const content = bytes.subarray(at + 5, end)
      kinds.push(bytes[at] === 0 ? fromBinary(SubscribeResponseSchema, content).event.case : "end")
      at = end
    }
    return kinds
  }

  test.each(readers)("stands between the first message and the end, and nowhere else (%s)", async (_, type, open) => {
    let path = none
    const before: boolean[] = []
    const port = await serving("ours", async function* (_request, context) {
      path = pathOf(context)
      before.push(path.isOpen, path.write(beat))
      yield { event }
      await vi.waitFor(() => expect(path.write(beat)).toBe(true))
      expect([path.isOpen, path.write(beat)]).toEqual([true, true])
      yield { event }
    })
    const kinds = await kindsOf(await open(port, type))
    expect(before).toEqual([false, false])
    const end = type === "application/grpc" ? [] : ["end"]
    expect(kinds).toEqual(["welcomeAvailable", "heartbeat", "heartbeat", "welcomeAvailable", ...end])
    expect([path.isOpen, path.write(beat)]).toEqual([false, false])
  })

  test.each(readers)("is refused while its reader is slow, and loses nothing (%s)", async (_, type, open) => {
    let written = 0
    const { promise: isFull, resolve: full } = Promise.withResolvers<void>()
    const port = await serving("ours", async function* (_request, context) {
      yield { event }
      const { write } = pathOf(context)
      await vi.waitFor(() => expect(write(large)).toBe(true))
      for (written = 1; write(large); written++) expect(written).toBeLessThan(all)
      full()
      yield { event }
    })
    const reader = await open(port, type)
    await isFull
    const kinds = await kindsOf(reader)
    expect(kinds.filter((kind) => kind === "welcomeAvailable")).toHaveLength(written + 2)
  })

  test.each(readers)("is refused once its reader has left (%s)", async (_, type, open) => {
    let path = none
    const port = await serving("ours", async function* (_request, context) {
      path = pathOf(context)
      yield { event }
      await new Promise((resolve) => context.signal.addEventListener("abort", resolve))
    })
    const reader = await open(port, type)
    await vi.waitFor(() => expect(path.write(beat)).toBe(true))
    reader.destroy()
    await vi.waitFor(() => expect(path.write(beat)).toBe(false), { timeout: 10_000 })
  })

  test("has no path through Connect's handlers", async () => {
    const answers: boolean[] = []
    const port = await serving("connect", async function* (_request, context) {
      yield { event }
      answers.push(pathOf(context).isOpen, pathOf(context).write(beat))
    })
    expect(await kindsOf(await overHttp1(port, "application/connect+proto"))).toEqual(["welcomeAvailable", "end"])
    expect(answers).toEqual([false, false])
  })
})
