// The port itself, against clients that are slow, broken, or slow to disconnect.
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import http from "node:http"
import http2, { type ClientHttp2Session } from "node:http2"
import { connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { connect as connectTls } from "node:tls"
import { createClient } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node"
import { TokenService } from "@signet/proto/auth/v1/token_service"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@signet/proto/grpc/health/v1/health"
import { afterEach, describe, expect, test } from "vitest"
import { isLong, sample } from "../../test/support/effort.ts"
import { startTransports, type TransportOptions, type TransportServer } from "./testing/transport-server.ts"

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function start(options: TransportOptions = {}): Promise<TransportServer> {
  const server = await startTransports(options)
  closing.push(() => server.app.close())
  return server
}

const quick = { listener: { headersTimeoutMs: 400, requestTimeoutMs: 800, keepAliveMs: 300, graceMs: 1_000 } }

function dial({ port }: TransportServer): Socket {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true }).on("error", () => undefined)
  closing.push(() => socket.destroy())
  return socket
}

/** The text that arrives until the other side closes. */
async function untilClosed(socket: Socket): Promise<{ text: string }> {
  let text = ""
  socket.on("data", (data) => {
    text += data.toString("latin1")
  })
  await new Promise((resolve) => socket.once("close", resolve))
  return { text }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const jwks = "GET /.well-known/jwks.json HTTP/1.1\r\nhost: a\r\n\r\n"

describe("a connection", () => {
  test("may send the HTTP/2 preface byte by byte", async () => {
    const server = await start()
    const session = http2.connect(server.url, { createConnection: () => trickling(dial(server)) })
    closing.push(() => session.close())
    expect(await statusOf(session)).toBe(200)
  })

  test("may send an HTTP/1.1 request byte by byte", async () => {
    const server = await start()
    const socket = dial(server)
    for (const char of jwks.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n")) {
      socket.write(char)
      await pause(1)
    }
    expect((await untilClosed(socket)).text).toMatch(/^HTTP\/1\.1 200 /)
  })

  test.each(
    sample(2, [
      ["says nothing", ""],
      ["says half a preface", "PRI * HT"],
      ["says half a header", "GET / HTTP/1.1\r\nhost: a\r\nx"],
    ]),
  )("that %s is closed in time", async (_, sent) => {
    const server = await start(quick)
    const socket = dial(server)
    socket.write(sent)
    // A listener without time limits would keep the socket open.
    await untilClosed(socket)
  })

  test.runIf(isLong)("that sends half a body is answered and closed", async () => {
    const server = await start(quick)
    const socket = dial(server)
    socket.write(
      "POST /auth/session/logout HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
    )
    const { text } = await untilClosed(socket)
    expect(text).toMatch(/^HTTP\/1\.1 408 /)
    expect(server.reached).toEqual([])
  })

  test.each([
    ["that starts like a preface and is none", "PRI * HTTP/1.1\r\n\r\n", /^HTTP\/1\.1 40[08] /],
    ["that is TLS", "\x16\x03\x01\x02\x00\x01", /^HTTP\/1\.1 400 /],
    ["with a line of 20 kB", `GET /${"a".repeat(20_000)} HTTP/1.1\r\n\r\n`, /^HTTP\/1\.1 431 /],
    [
      "with two lengths",
      "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
      /^HTTP\/1\.1 400 /,
    ],
    [
      "with a length and chunks",
      "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
      /^HTTP\/1\.1 400 /,
    ],
  ])("%s is refused", async (_, sent, answer) => {
    const server = await start(quick)
    const socket = dial(server)
    socket.write(Buffer.from(sent, "latin1"))
    expect((await untilClosed(socket)).text).toMatch(answer)
  })

  test("with a broken HTTP/2 frame is closed, and others continue", async () => {
    const server = await start()
    const socket = dial(server)
    socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    socket.write(Buffer.alloc(64, 0xff))
    await untilClosed(socket)
    expect((await fetch(`${server.url}/.well-known/jwks.json`)).status).toBe(200)
    expect(server.faults).toEqual([])
  })

  test("carries many requests over HTTP/1.1 and over HTTP/2", async () => {
    const server = await start()
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    closing.push(() => agent.destroy())
    const ports = new Set<number | undefined>()
    for (let call = 0; call < 3; call++) {
      await new Promise<void>((resolve, reject) => {
        const request = http.get(`${server.url}/.well-known/jwks.json`, { agent }, (response) => {
          ports.add(response.socket.localPort)
          response.resume().on("end", resolve)
        })
        request.on("error", reject)
      })
    }
    expect(ports.size).toBe(1)
    const session = http2.connect(server.url)
    closing.push(() => session.close())
    expect(await Promise.all([statusOf(session), statusOf(session), statusOf(session)])).toEqual([200, 200, 200])
  })

  test("continues after a refused body", async () => {
    const server = await start()
    const session = http2.connect(server.url)
    closing.push(() => session.close())
    const large = session.request({
      ":method": "POST",
      ":path": "/auth/session/logout",
      "content-type": "application/json",
    })
    large.end(Buffer.alloc(300_000, 0x20))
    const status = await new Promise((resolve) => large.once("response", (headers) => resolve(headers[":status"])))
    expect(status).toBe(413)
    large.resume()
    expect(await statusOf(session)).toBe(200)
  })
})

function trickling(socket: Socket): Socket {
  const write = socket.write.bind(socket)
  let queue = Promise.resolve<unknown>(undefined)
  socket.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    for (const byte of Buffer.from(chunk as string).subarray(0, 40)) {
      queue = queue.then(() => write(Uint8Array.of(byte))).then(() => pause(1))
    }
    const tail = Buffer.from(chunk as string).subarray(40)
    queue = queue.then(() => tail.length > 0 && write(tail))
    const done = rest.find((each) => typeof each === "function")
    if (done) queue.then(() => done())
    return true
  }
  return socket
}

function statusOf(session: ClientHttp2Session): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": "/.well-known/jwks.json" })
    stream.once("response", (headers) => resolve(headers[":status"])).on("error", reject)
    stream.resume()
  })
}

describe("a call", () => {
  test("whose client disconnects ends with CANCELED in its handler", async () => {
    const server = await start()
    const leave = new AbortController()
    const left = fetch(`${server.url}/auth/session/logout`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: `{"refreshToken":"slow"}`,
      signal: leave.signal,
    })
    await expect.poll(() => server.reached).toEqual(["logout"])
    leave.abort()
    await expect(left).rejects.toMatchObject({ name: "AbortError" })
    expect((await fetch(`${server.url}/.well-known/jwks.json`)).status).toBe(200)
    expect(server.faults).toEqual([])
  })

  test.each(["connect-timeout-ms", "grpc-timeout"])(
    "ends at the deadline of %s although its handler continues",
    async (header) => {
      const server = await start()
      const isGrpc = header === "grpc-timeout"
      const { ask, utf8 } = await import("./testing/ask.ts")
      const answer = await ask(server.url, isGrpc ? "gRPC JSON" : "REST", {
        rpc: "/signet.auth.v1.AuthService/Logout",
        rest: "/auth/session/logout",
        body: utf8(`{"refreshToken":"slow"}`),
        timeoutMs: 100,
      })
      expect(answer.reason).toBe("DEADLINE_EXCEEDED")
    },
  )

  test("ends at the service's own limit", async () => {
    const server = await start({ limitMs: 100 })
    const answer = await fetch(`${server.url}/auth/session/logout`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: `{"refreshToken":"slow"}`,
    })
    expect([answer.status, await answer.json()]).toMatchObject([504, { reason: "DEADLINE_EXCEEDED" }])
  })
})

const callsWhenAsked = `
  process.stdout.write(" ")
  process.stdin.once("data", () => {
    require("node:http")
      .get("http://127.0.0.1:" + process.argv[1] + "/.well-known/jwks.json", ({ statusCode }) => console.log(statusCode))
      .on("error", ({ code }) => console.log(code))
      .on("close", () => process.exit())
  })
`

/** Grace periods longer than a test, for connections that do not end on their own. */
const patient = { drainMs: 600_000, listener: { graceMs: 600_000 } }

describe("closing", () => {
  test.each([
    ["gRPC", (baseUrl: string) => createGrpcTransport({ baseUrl })],
    ["Connect", (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  ])("reports to watchers over %s, and ends the stream", async (_, open) => {
    const server = await start(patient)
    const seen: Status[] = []
    const watching = (async () => {
      for await (const { status } of createClient(Health, open(server.url)).watch({})) seen.push(status)
    })()
    await expect.poll(() => seen).toEqual([Status.SERVING])
    await server.app.close()
    await watching
    expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING])
  })

  test("waits for calls, and accepts no new connection", async () => {
    const server = await start({ drainMs: 5_000 })
    const call = fetch(`${server.url}/auth/session/logout`, {
      method: "POST",
      headers: { "content-type": "application/json", "connect-timeout-ms": "300" },
      body: `{"refreshToken":"slow"}`,
    })
    await expect.poll(() => server.reached).toEqual(["logout"])
    const closed = server.app.close()
    await expect(fetch(`${server.url}/.well-known/jwks.json`)).rejects.toMatchObject({
      cause: { syscall: "connect" },
    })
    expect((await call).status).toBe(504)
    await closed
  })

  test("answers on a connection that has sent nothing yet", async () => {
    const server = await start({ listener: { idleGraceMs: 10_000 } })
    const socket = dial(server)
    await once(server.app.server, "connection")
    const answered = untilClosed(socket)
    const closed = server.app.close()
    await pause(100)
    socket.write(jwks)
    expect((await answered).text).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n/i)
    await closed
  })

  test("answers on a connection that waits to be accepted", async () => {
    const server = await start({ listener: { idleGraceMs: 10_000 } })
    const client = spawn(process.execPath, ["-e", callsWhenAsked, String(server.port)])
    closing.push(() => client.kill())
    await once(client.stdout, "data")
    client.stdin.write("now")
    // Meanwhile this process accepts nothing.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    const closed = server.app.close()
    expect((await text(client.stdout)).trim()).toBe("200")
    await closed
  })

  test("gives a reason to calls that it ends", async () => {
    const server = await start({ drainMs: 100 })
    const call = fetch(`${server.url}/auth/session/logout`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: `{"refreshToken":"slow"}`,
    })
    await expect.poll(() => server.reached).toEqual(["logout"])
    await server.app.close()
    expect(await (await call).json()).toMatchObject({ reason: "UNAVAILABLE" })
  })

  test("does not wait for idle connections of either version", async () => {
    const server = await start(patient)
    const session = http2.connect(server.url)
    await statusOf(session)
    dial(server).write(jwks)
    dial(server)
    await pause(50)
    await server.app.close()
  })

  test("closes the connection of a client that does not read its response", async () => {
    const server = await start({ listener: { graceMs: 300 } })
    const session = http2.connect(server.url)
    closing.push(() => session.destroy())
    const unread = session.request({ ":path": "/.well-known/jwks.json" })
    await new Promise((resolve) => unread.once("response", resolve))
    await server.app.close()
  })

  test("closes connections that their clients leave open", async () => {
    const server = await start({ listener: { graceMs: 300 }, drainMs: 60_000 })
    const socket = dial(server)
    socket.write(
      "POST /auth/session/logout HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{",
    )
    await pause(50)
    await server.app.close()
  })
})

const hasOpenssl = (() => {
  try {
    execFileSync("openssl", ["version"])
    return true
  } catch {
    return false
  }
})()

describe.skipIf(!hasOpenssl)("TLS", () => {
  function certificate(): { cert: string; key: string } {
    const folder = mkdtempSync(join(tmpdir(), "signet-tls-"))
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")]
    const request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost"
    execFileSync("openssl", [...request.split(" "), "-keyout", key, "-out", cert], { stdio: "ignore" })
    const texts = { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") }
    rmSync(folder, { recursive: true })
    return texts
  }

  test("serves both versions by ALPN, and closes", async () => {
    const tls = certificate()
    const server = await start({ ...patient, listener: { ...patient.listener, tls } })
    const baseUrl = server.url.replace("http:", "https:")
    const nodeOptions = { ca: tls.cert, checkServerIdentity: () => undefined }
    for (const transport of [
      createConnectTransport({ baseUrl, httpVersion: "1.1", nodeOptions }),
      createConnectTransport({ baseUrl, httpVersion: "2", nodeOptions }),
      createGrpcTransport({ baseUrl, nodeOptions }),
    ]) {
      expect((await createClient(TokenService, transport).getJwks({})).keys[0]?.kid).toBe("k1")
    }
    await server.app.close()
  })

  test("does not speak version 1.1 of the protocol", async () => {
    const tls = certificate()
    const server = await start({ listener: { tls } })
    const refused = new Promise((resolve) => {
      const socket = connectTls({
        port: server.port,
        maxVersion: "TLSv1.1",
        minVersion: "TLSv1",
        rejectUnauthorized: false,
      })
      socket.on("error", () => resolve("refused")).on("secureConnect", () => resolve("taken"))
    })
    expect(await refused).toBe("refused")
  })
})
