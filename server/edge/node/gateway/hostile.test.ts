// Hostile callers, and targets that are unreachable, faulty or slow.
import http2 from "node:http2"
import { connect } from "node:net"
import { create, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node"
import { AuthService, LogoutRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { Health } from "@signet/proto/grpc/health/v1/health"
import { afterEach, describe, expect, test } from "vitest"
import { ask, enveloped, protocols } from "../../../node/testing/ask.ts"
import { startTransports } from "../../../node/testing/transport-server.ts"
import { type Behind, startBehind, startGateway } from "../testing/gateways.ts"

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

type Answer = Parameters<typeof startBehind>[0]
type Options = Parameters<typeof startGateway>[1]

async function behind(answer: Answer, options: Options = {}) {
  const server = await startBehind(answer)
  closing.push(() => server.close())
  return { ...(await front(server.url, options)), server }
}

async function front(url: string, options: Options = {}) {
  const gateway = await startGateway(url, { drainMs: 100, listener: { graceMs: 200 }, ...options })
  closing.push(() => gateway.close())
  return { gateway }
}

const message = toBinary(LogoutRequestSchema, create(LogoutRequestSchema, { refreshToken: "r" }))
const logout = { rpc: "/signet.auth.v1.AuthService/Logout", rest: "/auth/session/logout", body: message }
const fine: Answer = (_, response) => response.writeHead(200, { "content-type": "application/proto" }).end()
const overGrpc = (baseUrl: string) => createClient(AuthService, createGrpcTransport({ baseUrl }))

/** The code and reason with which a call fails. */
async function failure(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (thrown) => ConnectError.from(thrown),
  )
  return error === undefined ? "none" : `${Code[error.code]} ${error.findDetails(ErrorInfoSchema)[0]?.reason}`
}

describe("a gRPC request", () => {
  test.each<[string, Uint8Array]>([
    ["with no frame", new Uint8Array()],
    ["with a frame that is cut", Uint8Array.of(0, 0, 0)],
    ["with less than its frame's length", Uint8Array.of(0, 0, 0, 0, 99, 1)],
    ["with more than its frame's length", Uint8Array.of(...enveloped(message), 1)],
    ["with two messages", Uint8Array.of(...enveloped(message), ...enveloped(message))],
    ["with flags that do not exist", Uint8Array.of(2, ...enveloped(message).subarray(1))],
  ])("%s is refused, and never executed", async (_, body) => {
    const { gateway, server } = await behind(fine)
    expect((await ask(gateway.url, "gRPC", { ...logout, body, unframed: true })).reason).toBe("MALFORMED_REQUEST")
    expect(server.seen).toEqual([])
  })

  test("whose frame announces four gigabytes is refused at once", async () => {
    const { gateway, server } = await behind(fine)
    const body = Uint8Array.of(0, 255, 255, 255, 255, 1)
    expect((await ask(gateway.url, "gRPC", { ...logout, body, unframed: true })).reason).toBe("BODY_TOO_LARGE")
    expect(server.seen).toEqual([])
  })

  test("that does not arrive in time is refused, and never executed", async () => {
    const { gateway, server } = await behind(fine, { bodyMs: 100 })
    const session = http2.connect(gateway.url)
    closing.push(async () => session.destroy())
    const stream = session.request({ ":method": "POST", ":path": logout.rpc, "content-type": "application/grpc" })
    stream.write(enveloped(message).subarray(0, 7))
    const status = await new Promise((resolve) => {
      stream.on("response", (headers) => resolve(headers["grpc-status"]))
    })
    expect(status).toBe(String(Code.DeadlineExceeded))
    expect(server.seen).toEqual([])
  })

  test("over HTTP/1.1, which has no trailers here, is refused with 505", async () => {
    const { gateway } = await behind(fine)
    const headers = { "content-type": "application/grpc" }
    expect((await fetch(gateway.url + logout.rpc, { method: "POST", headers })).status).toBe(505)
  })
})

describe("headers", () => {
  const headersOf = async (given: Record<string, string>, options: Options = {}) => {
    const { gateway, server } = await behind(fine, options)
    const session = http2.connect(gateway.url)
    closing.push(async () => session.destroy())
    const path = { ":method": "POST", ":path": logout.rpc, "content-type": "application/grpc", te: "trailers" }
    const stream = session.request({ ...path, ...given })
    stream.end(enveloped(message)).resume()
    await new Promise((resolve) => stream.once("close", resolve))
    return server.seen[0]
  }

  test("with the client's address are the gateway's, not the caller's", async () => {
    const seen = await headersOf({
      "x-forwarded-for": "192.0.2.1",
      "cf-connecting-ip": "192.0.2.2",
      "x-real-ip": "192.0.2.3",
      forwarded: "for=192.0.2.4",
    })
    expect(seen?.headers["x-forwarded-for"]).toBe("192.0.2.1, 127.0.0.1")
    for (const name of ["cf-connecting-ip", "x-real-ip", "forwarded"]) expect(seen?.headers[name]).toBeUndefined()
  })

  test("outside of the contract are forwarded only if configured", async () => {
    expect((await headersOf({ "x-tenant": "t" }))?.headers["x-tenant"]).toBeUndefined()
    expect((await headersOf({ "x-tenant": "t" }, { moreHeaders: ["x-tenant"] }))?.headers["x-tenant"]).toBe("t")
  })

  test("of gRPC become Connect's", async () => {
    const seen = await headersOf({ "grpc-timeout": "7S", authorization: "Bearer x", "user-agent": "someone" })
    expect(seen?.headers).toMatchObject({
      authorization: "Bearer x",
      "user-agent": "someone",
      "content-type": "application/proto",
      "connect-protocol-version": "1",
      "connect-timeout-ms": "7000",
      "content-length": String(message.length),
    })
    for (const name of ["te", "grpc-timeout", "grpc-encoding"]) expect(seen?.headers[name]).toBeUndefined()
    expect(seen?.body).toEqual(Buffer.from(message))
  })

  test("with a second credential are forwarded for the target to refuse", async () => {
    const { gateway, server } = await behind(fine)
    const socket = connect(gateway.port, "127.0.0.1")
    const twice = "authorization: Bearer one\r\nauthorization: Bearer two\r\n"
    socket.write(`GET /auth/session/me HTTP/1.1\r\nhost: a\r\n${twice}connection: close\r\n\r\n`)
    await new Promise((resolve) => socket.on("data", () => {}).once("close", resolve))
    const names = server.seen[0]?.raw.filter((name) => name.toLowerCase() === "authorization")
    expect(names).toHaveLength(2)
  })

  test("that a caller declares hop-by-hop are dropped", async () => {
    const { gateway, server } = await behind(fine)
    const socket = connect(gateway.port, "127.0.0.1")
    socket.write(
      `POST ${logout.rpc} HTTP/1.1\r\nhost: a\r\nconnection: close, upgrade\r\nupgrade: h2c\r\nkeep-alive: 5\r\n` +
        "proxy-authorization: Basic eDp5\r\ncontent-type: application/proto\r\ntransfer-encoding: chunked\r\n\r\n" +
        "2\r\nab\r\n0\r\n\r\n",
    )
    await new Promise((resolve) => socket.on("data", () => {}).once("close", resolve))
    expect(server.seen[0]?.body.toString()).toBe("ab")
    for (const name of ["upgrade", "proxy-authorization"]) expect(server.seen[0]?.headers[name]).toBeUndefined()
  })

  test("of the answer that are hop-by-hop do not reach the caller", async () => {
    const { gateway } = await behind((_, response) => {
      response.setHeader("connection", "keep-alive, x-inner")
      response.setHeader("x-inner", "1").setHeader("x-outer", "2").end("{}")
    })
    const { headers } = await fetch(`${gateway.url}/auth/session/me`)
    expect([headers.get("x-inner"), headers.get("x-outer")]).toEqual([null, "2"])
  })
})

describe("an HTTP/1.1 request", () => {
  const answerTo = async (text: string) => {
    const { gateway, server } = await behind(fine)
    const socket = connect(gateway.port, "127.0.0.1")
    socket.write(text)
    let told = ""
    await new Promise((resolve) => socket.on("data", (data) => (told += data)).once("close", resolve))
    return { status: told.slice(9, 12), seen: server.seen }
  }
  const body =
    "connection: close\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n"

  test.each([
    ["of two lengths", `POST ${logout.rpc} HTTP/1.1\r\nhost: a\r\n${body}`],
    ["for another host", "GET http://elsewhere.example/ HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"],
    ["for no path", "OPTIONS * HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"],
  ])("%s is refused, and never executed", async (_, text) => {
    expect(await answerTo(text)).toEqual({ status: "400", seen: [] })
  })

  test("with a longer body than any method permits is refused, by its length or by count", async () => {
    const { gateway } = await behind(fine)
    const large = { ...logout, body: new Uint8Array(70_000) }
    for (const protocol of ["Connect binary", "gRPC-Web", "REST"] as const) {
      expect((await ask(gateway.url, protocol, large)).reason).toBe("BODY_TOO_LARGE")
    }
    const chunked = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(50_000))
      },
    })
    const init = { method: "POST", body: chunked, duplex: "half", headers: { "content-type": "application/proto" } }
    const answer = await fetch(gateway.url + logout.rpc, init).catch(() => undefined)
    expect(answer === undefined || answer.status === 429).toBe(true)
  })
})

describe("a target", () => {
  test.each(protocols)("that is unreachable is UNAVAILABLE, over %s", async (protocol) => {
    const down = await startBehind(fine)
    await down.close()
    const { gateway } = await front(down.url)
    expect((await ask(gateway.url, protocol, logout)).reason).toBe("UNAVAILABLE")
    expect(gateway.faults).toHaveLength(1)
  })

  test.each<[string, Answer]>([
    ["goes away", (_, response) => response.destroy()],
    [
      "goes away in its answer",
      (_, response) => {
        response.writeHead(200, { "content-type": "application/proto", "content-length": "9" })
        response.write("1234", () => response.destroy())
      },
    ],
    ["is a page", (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>hello</h1>")],
    ["is a busy proxy", (_, response) => response.writeHead(502, { "content-type": "text/html" }).end("<h1>busy</h1>")],
    ["breaks the protocol", (_, response) => response.writeHead(500, { "content-type": "application/json" }).end("{")],
    [
      "answers without end",
      (_, response) => {
        response.writeHead(200, { "content-type": "application/proto" })
        const more = () => response.destroyed || response.write(new Uint8Array(10_000), more)
        more()
      },
    ],
  ])("that %s is UNAVAILABLE over gRPC", async (_, answer) => {
    const { gateway } = await behind(answer, { maxAnswerBytes: 100_000 })
    expect(await failure(overGrpc(gateway.url).logout({}))).toBe("Unavailable UNAVAILABLE")
  })

  test("that does not answer times out", async () => {
    const { gateway } = await behind(() => {}, { callMs: 100 })
    expect(await failure(overGrpc(gateway.url).logout({}))).toBe("DeadlineExceeded DEADLINE_EXCEEDED")
    expect((await ask(gateway.url, "Connect binary", logout)).reason).toBe("DEADLINE_EXCEEDED")
  })

  test("is notified when its caller disconnects, over every protocol", async () => {
    const { gateway, server } = await behind(() => {})
    const transports = [
      createGrpcTransport({ baseUrl: gateway.url }),
      createConnectTransport({ baseUrl: gateway.url, httpVersion: "1.1" }),
      createConnectTransport({ baseUrl: gateway.url, httpVersion: "2" }),
    ]
    for (const [i, transport] of transports.entries()) {
      const stop = new AbortController()
      const call = createClient(AuthService, transport).logout({}, { signal: stop.signal })
      await expect.poll(() => server.seen.length).toBe(i + 1)
      stop.abort()
      await expect(call).rejects.toMatchObject({ code: Code.Canceled })
      await server.gone[i]
    }
  })

  test.each<[string, (of: Behind["seen"][number]) => Buffer, string]>([
    ["is cut", () => Buffer.from(enveloped(Uint8Array.of(8, 1))), "Unavailable UNAVAILABLE"],
    ["has half a frame", () => Buffer.of(0, 0, 0, 0, 9, 1), "Unavailable UNAVAILABLE"],
    ["has flags that do not exist", () => Buffer.of(4, 0, 0, 0, 1, 1), "Unavailable UNAVAILABLE"],
    ["has an endless frame", () => Buffer.of(0, 255, 255, 255, 255, 1), "Unavailable UNAVAILABLE"],
  ])("whose stream %s is UNAVAILABLE", async (_, bytes, told) => {
    const { gateway } = await behind((seen, response) => {
      response.writeHead(200, { "content-type": "application/connect+proto" }).end(bytes(seen))
    })
    const watch = async () => {
      for await (const _ of createClient(Health, createGrpcTransport({ baseUrl: gateway.url })).watch({}));
    }
    expect(await failure(watch())).toBe(told)
  })
})

test("a gateway that stops ends its streams with UNAVAILABLE, and drains calls", async () => {
  const server = await startTransports()
  closing.push(() => server.app.close())
  const gateway = await startGateway(server.url, { drainMs: 600_000 })
  const watch = async () => {
    for await (const _ of createClient(Health, createGrpcTransport({ baseUrl: gateway.url })).watch({})) {
      void gateway.close()
    }
  }
  // At once: draining the stream like a call would outlast the test.
  expect(await failure(watch())).toBe("Unavailable UNAVAILABLE")
})
