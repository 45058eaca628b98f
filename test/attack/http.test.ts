// Ambiguous and malformed HTTP requests, such as those used for request smuggling.
import { connect as connectHttp2 } from "node:http2"
import { connect } from "node:net"
import { createClient } from "@connectrpc/connect"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { Health } from "@signet/proto/grpc/health/v1/health"
import { pino } from "pino"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { clientsOver, protocols } from "../support/clients.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const me = "/signet.auth.v1.AuthService/Me"

describe("the port", () => {
  const faults: string[] = []
  let server: TestServer
  let token: string
  beforeAll(async () => {
    const write = (line: string) => {
      if (line.includes('"msg":"fault"')) faults.push(line)
    }
    server = await startTestServer({ store: storyStore, log: pino({ level: "error" }, { write }) })
    const { auth } = clientsOver(createGrpcTransport({ baseUrl: server.url }))
    token = (await auth.externalLogin(await server.login("caller"))).accessToken
  })
  beforeEach(() => void faults.splice(0))
  afterAll(() => server?.close())

  /** Sends one request over HTTP/1, byte by byte; the connection ends after the answer. */
  function send(head: string, body = ""): Promise<{ status: number; reason: string; head: string }> {
    return new Promise((resolve, reject) => {
      const socket = connect(server.port, "127.0.0.1")
      let text = ""
      socket.on("data", (chunk) => {
        text += chunk.toString("latin1")
      })
      socket.on("error", reject)
      socket.on("close", () => {
        const [reply = "", content = ""] = text.split("\r\n\r\n")
        const reason = /"reason":"([A-Z_]+)"/.exec(content)?.[1] ?? ""
        resolve({ status: Number(reply.split(" ")[1] ?? 0), reason, head: reply.toLowerCase() })
      })
      const lines = [...head.split("\n"), "connection: close", `content-length: ${body.length}`]
      socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`, "latin1")
    })
  }

  function sendHttp2(headers: Record<string, string>): Promise<number> {
    return new Promise((resolve, reject) => {
      const session = connectHttp2(server.url).on("error", reject)
      const stream = session.request(headers)
      stream.on("response", ({ ":status": status }) => {
        resolve(Number(status))
        session.close()
      })
      stream.on("error", reject).on("close", () => resolve(0))
      stream.resume().end()
    })
  }

  /** Sends a GET of `me` over HTTP/2 with raw fields, which Node's client would refuse. Returns the raw answer. */
  function sendFields(fields: [string, string][]): Promise<string> {
    const all = [[":method", "GET"], [":scheme", "http"], [":path", "/auth/session/me"], [":authority", "a"], ...fields]
    const block = Buffer.concat(
      all.map(([name = "", value = ""]) => Buffer.concat([Buffer.of(0), text(name), text(value)])),
    )
    const head = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, Buffer.alloc(0))])
    return new Promise((resolve, reject) => {
      const socket = connect(server.port, "127.0.0.1")
      let answer = ""
      socket.on("data", (chunk) => {
        answer += chunk.toString("latin1")
        if (answer.includes("}")) socket.destroy()
      })
      socket.on("error", reject).on("close", () => resolve(answer))
      socket.write(Buffer.concat([head, frame(1, 5, 1, block)]))
    })
  }

  test.each([
    ["a good one and a bad one", (good: string) => `authorization: Bearer ${good}\nauthorization: Bearer bad`],
    ["a bad one and a good one", (good: string) => `authorization: Bearer bad\nAuthorization: Bearer ${good}`],
    ["the same twice", (good: string) => `authorization: Bearer ${good}\nauthorization: Bearer ${good}`],
    ["two in one header", (good: string) => `authorization: Bearer ${good}, Bearer ${good}`],
  ])("refuses two credentials: %s", async (_, lines) => {
    const rest = await send(`GET /auth/session/me HTTP/1.1\nhost: a\n${lines(token)}`)
    expect(rest).toMatchObject({ status: 401, reason: "MALFORMED_CREDENTIAL" })
    const type = "content-type: application/json"
    const rpc = await send(`POST ${me} HTTP/1.1\nhost: a\n${type}\n${lines(token)}`, "{}")
    expect(rpc).toMatchObject({ status: 401, reason: "MALFORMED_CREDENTIAL" })
  })

  test.each(["", "{", '{"a":1}'])("answers an unknown path the same with the body %j", async (body) => {
    const head = { method: "POST", headers: { "content-type": "application/json" }, body }
    const response = await fetch(`${server.url}/auth/nothing`, head)
    expect([response.status, ((await response.json()) as { reason: string }).reason]).toEqual([404, "METHOD_UNKNOWN"])
  })

  test("refuses two hosts and two content types", async () => {
    const authorization = `authorization: Bearer ${token}`
    const hosts = await send(`GET /auth/session/me HTTP/1.1\nhost: a\nhost: b\n${authorization}`)
    expect(hosts).toMatchObject({ status: 400 })
    const types = "content-type: application/json\ncontent-type: application/x-www-form-urlencoded"
    const twice = await send(`POST ${me} HTTP/1.1\nhost: a\n${types}\n${authorization}`, "{}")
    expect(twice).toMatchObject({ status: 400, reason: "MALFORMED_REQUEST" })
  })

  test.each(["[", "a b", "a:99999", "\x80"])("refuses the host %j without a fault", async (host) => {
    const more = `host: ${host}\nauthorization: Bearer ${token}`
    const answers = [
      await send(`GET /auth/session/me HTTP/1.1\n${more}`),
      await send(`GET ${me}?encoding=json&message={} HTTP/1.1\n${more}`),
      await send(`POST ${me} HTTP/1.1\n${more}\ncontent-type: application/json`, "{}"),
      await send(`POST ${me} HTTP/1.1\n${more}\ncontent-type: application/grpc`, "\0\0\0\0\0"),
      await send(`POST /a.B/C HTTP/1.1\n${more}\ncontent-type: application/grpc`, "\0\0\0\0\0"),
    ]
    for (const answer of answers) expect(answer).toMatchObject({ status: 400, reason: "MALFORMED_REQUEST" })
    expect(faults).toEqual([])
  })

  test("refuses a malformed authority over HTTP/2 without a fault", async () => {
    expect(await sendHttp2({ ":path": `${me}?encoding=json&message=%7B%7D`, ":authority": "[" })).toBe(400)
    expect(faults).toEqual([])
  })

  test("answers an HTTP/1.0 probe without a host", async () => {
    expect(await send("GET /livez HTTP/1.0")).toMatchObject({ status: 200 })
    expect(await send("GET /.well-known/jwks.json HTTP/1.0")).toMatchObject({ status: 200 })
  })

  test.each(["HEAD", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "PROPFIND"])("refuses %s", async (verb) => {
    const authorization = `authorization: Bearer ${token}`
    for (const path of ["/auth/session/me", me]) {
      expect(await send(`${verb} ${path} HTTP/1.1\nhost: a\n${authorization}`)).toMatchObject({ status: 404 })
    }
  })

  test.each([
    "/auth/session/me/",
    "/AUTH/session/me",
    "/auth//session/me",
    "/auth%2fsession/me",
    "/auth/session%2Fme",
    "/auth/session/./me",
    "/auth/session/../session/me",
    "/auth/session/me;a=b",
    "/auth/session/me%00",
    "*",
  ])("has one spelling of a path, not %s", async (path) => {
    const answer = await send(`GET ${path} HTTP/1.1\nhost: a\nauthorization: Bearer ${token}`)
    expect(answer).toMatchObject({ status: 404, reason: "METHOD_UNKNOWN" })
  })

  test.each(["Logout", "LogoutAll", "Refresh", "ExternalLogin"])("does nothing for a GET of %s", async (method) => {
    const path = `/signet.auth.v1.AuthService/${method}?encoding=json&message=%7B%7D&connect=v1`
    const answer = await send(`GET ${path} HTTP/1.1\nhost: a\nauthorization: Bearer ${token}`)
    expect(answer).toMatchObject({ status: 404, reason: "METHOD_UNKNOWN" })
    const alive = await send(`GET /auth/session/me HTTP/1.1\nhost: a\nauthorization: Bearer ${token}`)
    expect(alive.status).toBe(200)
  })

  test.each(["", "?encoding=xml&message=%7B%7D", "?message=%7B%7D"])(
    "gives a reason for a GET with %j",
    async (query) => {
      const answer = await send(`GET ${me}${query} HTTP/1.1\nhost: a\nauthorization: Bearer ${token}`)
      expect(answer).toMatchObject({ status: 415, reason: "UNSUPPORTED_MEDIA_TYPE" })
    },
  )

  test.each(["application/grpc-web-text", "application/json, text/plain", "application/x-protobuf", "text/json"])(
    "gives a reason for a message in %s",
    async (type) => {
      const head = `POST ${me} HTTP/1.1\nhost: a\nauthorization: Bearer ${token}\ncontent-type: ${type}`
      expect(await send(head, "{}")).toMatchObject({ status: 415, reason: "UNSUPPORTED_MEDIA_TYPE" })
    },
  )

  test("refuses two credentials over HTTP/2", async () => {
    const good: [string, string] = ["authorization", `Bearer ${token}`]
    expect(await sendFields([good])).toContain('"principal"')
    for (const fields of [
      [good, good],
      [good, ["authorization", "Bearer bad"]],
      [["authorization", "Bearer bad"], good],
    ] satisfies [string, string][][]) {
      expect(await sendFields(fields)).toContain("MALFORMED_CREDENTIAL")
    }
  })

  test("sends Vary: Origin with every answer, for shared caches", async () => {
    for (const more of ["", "\norigin: https://evil.example", "\norigin: null", "\norigin: https://notes.example"]) {
      const { head } = await send(`GET /.well-known/jwks.json HTTP/1.1\nhost: a${more}`)
      expect(head).toContain("\r\nvary: origin")
      expect(head.includes("access-control-allow-origin")).toBe(more.includes("notes.example"))
    }
  })

  test.each([
    ["Connect-Timeout-Ms", "soon"],
    ["Connect-Timeout-Ms", "-1"],
    ["Connect-Timeout-Ms", "99999999999"],
  ])("refuses %s: %s with a reason", async (name, value) => {
    const more = `host: a\nauthorization: Bearer ${token}\n${name}: ${value}`
    const answers = [
      await send(`GET /auth/session/me HTTP/1.1\n${more}`),
      await send(`GET ${me}?encoding=json&message={} HTTP/1.1\n${more}`),
      await send(`POST ${me} HTTP/1.1\n${more}\ncontent-type: application/json`, "{}"),
    ]
    for (const answer of answers) expect(answer).toMatchObject({ status: 400, reason: "MALFORMED_REQUEST" })
  })

  test("treats a timeout of months as no timeout, not as a millisecond", async () => {
    // The headers are set by hand, because Connect's own clients would set a timer for the timeout.
    const headers = { "connect-timeout-ms": "9999999999", "grpc-timeout": "99999999S" }
    for (const open of Object.values(protocols)) {
      const { auth } = clientsOver(open(server.url))
      const { accessToken } = await auth.externalLogin(await server.login("patient"), { headers })
      expect(accessToken).not.toBe("")
    }
  })

  test.each(["gRPC", "Connect binary over HTTP/2"])(
    "keeps a stream open for a caller over %s with a timeout of months",
    async (name) => {
      const transport = protocols[name]?.(server.url) ?? expect.fail("no such protocol")
      const health = createClient(Health, transport)
      const abort = new AbortController()
      const statuses: number[] = []
      const ended = (async () => {
        const headers = { "grpc-timeout": "99999999S", "connect-timeout-ms": "9999999999" }
        const options = { headers, signal: abort.signal }
        for await (const { status } of health.watch({}, options)) statuses.push(status)
      })().catch((error: Error) => error.message)
      const first = await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 300, "open"))])
      expect([first, statuses]).toEqual(["open", [1]])
      abort.abort()
      await ended
    },
  )
})

/** A frame of HTTP/2 (RFC 9113 section 4.1). */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A string literal of HPACK (RFC 7541 section 5.2), without Huffman coding. */
function text(of: string): Buffer {
  const length = of.length < 127 ? [of.length] : [127]
  let rest = of.length - 127
  if (rest >= 0) {
    for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128)
    length.push(rest)
  }
  return Buffer.concat([Buffer.from(length), Buffer.from(of, "latin1")])
}
