// A stream follows its reader: what a reader does not take is not produced, and a reader that leaves ends the method.
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { type ClientHttp2Stream, connect } from "node:http2"
import type { AddressInfo } from "node:net"
import { create, toBinary } from "@bufbuild/protobuf"
import { ConversationService, SubscribeRequestSchema } from "@signet/proto/messaging/v1/conversation_service"
import { afterEach, describe, expect, test, vi } from "vitest"
import { enveloped } from "../serving/unary-call.ts"
import { createHttp } from "./http.ts"
import { rpcPlugin } from "./rpc-plugin.ts"

const path = "/signet.messaging.v1.ConversationService/Subscribe"
const body = enveloped(0, toBinary(SubscribeRequestSchema, create(SubscribeRequestSchema)))
const event = { case: "welcomeAvailable", value: { welcomeId: "w".repeat(60_000), conversationId: "" } } as const
/** 12 MB, more than sockets and flow control hold. */
const all = 200

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function served(calls: "ours" | "connect") {
  const stream = { produced: 0, hasEnded: false }
  const app = createHttp({ onFault: (fault) => expect.fail(String(fault)) })
  await app.register(rpcPlugin, {
    interceptors: [],
    onFault: (fault: unknown) => expect.fail(String(fault)),
    calls,
    routes: (router) => {
      router.service(ConversationService, {
        async *subscribe() {
          try {
            for (; stream.produced < all; stream.produced++) yield { event }
          } finally {
            stream.hasEnded = true
          }
        },
      })
    },
  })
  await app.listen({ port: 0, host: "127.0.0.1" })
  closing.push(() => app.close())
  return { stream, port: (app.server.address() as AddressInfo).port }
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
