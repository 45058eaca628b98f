import { EventEmitter } from "node:events"
import { type ClientRequest, createServer, Server as HttpServer, type RequestListener } from "node:http"
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net"
import { afterEach, expect, test } from "vitest"
import { createPinnedSend, type ResolvedAddress } from "./pinned-send.ts"
import type { PushRequest } from "./push-request.ts"

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    if (server instanceof HttpServer) server.closeAllConnections()
    await new Promise((done) => server.close(done))
  }
})

/** Serves on loopback, and counts requests by path. */
async function serve(answer: RequestListener): Promise<{ port: number; paths: string[] }> {
  const paths: string[] = []
  const server = createServer((request, response) => {
    paths.push(request.url ?? "")
    answer(request, response)
  })
  servers.push(server)
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  return { port: (server.address() as AddressInfo).port, paths }
}

const pushTo = (url: string): PushRequest => ({ url, headers: { "content-length": "0" }, body: new Uint8Array() })

/** Sends to a public name that resolves to these addresses, and records each connection that is begun. */
async function connectsTo(...found: readonly ResolvedAddress[]): Promise<string[]> {
  const begun: string[] = []
  const send = createPinnedSend({
    isLoopbackAllowed: false,
    resolve: async () => found,
    request: (_url, { lookup }) => {
      lookup?.("push.example", {}, (_, address) => begun.push(String(address)))
      throw new Error("no network in this test")
    },
  })
  expect(await send(pushTo("https://push.example/a"))).toBeUndefined()
  return begun
}

test("a push connects to the address that was checked", async () => {
  expect(await connectsTo({ address: "1.1.1.1", family: 4 })).toEqual(["1.1.1.1"])
})

test.each([
  ["loopback", { address: "127.0.0.1", family: 4 }],
  ["a private network", { address: "10.1.2.3", family: 4 }],
  ["a cloud's metadata", { address: "169.254.169.254", family: 4 }],
  ["mapped loopback", { address: "::ffff:127.0.0.1", family: 6 }],
  ["NAT64 of a private network", { address: "64:ff9b::a01:203", family: 6 }],
  ["a unique local address", { address: "fd00::1", family: 6 }],
])("a name of %s gets no connection", async (_, address) => {
  expect(await connectsTo(address)).toEqual([])
})

test("a name with one private address gets no connection, whatever the order", async () => {
  const [open, inner] = [
    { address: "1.1.1.1", family: 4 },
    { address: "10.0.0.1", family: 4 },
  ]
  expect(await connectsTo(open, inner)).toEqual([])
  expect(await connectsTo(inner, open)).toEqual([])
  expect(await connectsTo()).toEqual([])
})

test("a name is resolved once for each push", async () => {
  let asked = 0
  const answers = [[{ address: "1.1.1.1", family: 4 }], [{ address: "127.0.0.1", family: 4 }]]
  const begun: string[] = []
  const send = createPinnedSend({
    isLoopbackAllowed: false,
    resolve: async () => answers[asked++] ?? [],
    request: (_url, { lookup }) => {
      lookup?.("push.example", {}, (_, address) => begun.push(String(address)))
      throw new Error("no network in this test")
    },
  })
  await send(pushTo("https://push.example/a"))
  expect([asked, begun]).toEqual([1, ["1.1.1.1"]])
  await send(pushTo("https://push.example/a"))
  expect([asked, begun]).toEqual([2, ["1.1.1.1"]])
})

test("a redirect is returned and not followed", async () => {
  const target = await serve((_, response) => response.writeHead(201).end())
  const { port } = await serve((_, response) =>
    response.writeHead(307, { location: `http://127.0.0.1:${target.port}/secret` }).end(),
  )
  const send = createPinnedSend({ isLoopbackAllowed: true })
  expect(await send(pushTo(`http://127.0.0.1:${port}/a`))).toEqual({ status: 307, retryAfter: null })
  expect(target.paths).toEqual([])
})

test("loopback gets no connection outside development", async () => {
  const { port, paths } = await serve((_, response) => response.writeHead(201).end())
  const send = createPinnedSend({ isLoopbackAllowed: false })
  expect(await send(pushTo(`http://127.0.0.1:${port}/a`))).toBeUndefined()
  expect(paths).toEqual([])
})

test("the wait that a provider asks for is returned", async () => {
  const { port } = await serve((_, response) => response.writeHead(429, { "retry-after": "120" }).end())
  const send = createPinnedSend({ isLoopbackAllowed: true })
  expect(await send(pushTo(`http://127.0.0.1:${port}/a`))).toEqual({ status: 429, retryAfter: "120" })
})

test("an endless body is not read, and a head over 4 KiB is refused", async () => {
  const endless = await serve((_, response) => {
    response.writeHead(201)
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    }
    response.on("drain", more)
    more()
  })
  const large = await serve((_, response) => response.writeHead(201, { "x-large": "x".repeat(8_192) }).end())
  const send = createPinnedSend({ isLoopbackAllowed: true })
  expect(await send(pushTo(`http://127.0.0.1:${endless.port}/a`))).toEqual({ status: 201, retryAfter: null })
  expect(await send(pushTo(`http://127.0.0.1:${large.port}/a`))).toBeUndefined()
})

test("an answer that changes the protocol is no answer", async () => {
  const server = createTcpServer((socket) => {
    socket.on("error", () => undefined).resume()
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n")
  })
  servers.push(server)
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const { port } = server.address() as AddressInfo
  const send = createPinnedSend({ isLoopbackAllowed: true })
  expect(await send(pushTo(`http://127.0.0.1:${port}/a`))).toBeUndefined()
})

test("a request that reports no event ends by the time limit", async () => {
  const request = () => Object.assign(new EventEmitter(), { end: () => undefined }) as unknown as ClientRequest
  const send = createPinnedSend({ isLoopbackAllowed: true, timeoutMs: 20, request })
  expect(await send(pushTo("http://127.0.0.1:1/a"))).toBeUndefined()
})

test("a provider that does not answer, and a resolver that does not, end by the time limit", async () => {
  const { port } = await serve(() => undefined)
  const send = createPinnedSend({ isLoopbackAllowed: true, timeoutMs: 20 })
  expect(await send(pushTo(`http://127.0.0.1:${port}/a`))).toBeUndefined()
  const unresolved = createPinnedSend({ isLoopbackAllowed: false, timeoutMs: 20, resolve: () => new Promise(() => {}) })
  expect(await unresolved(pushTo("https://push.example/a"))).toBeUndefined()
})
