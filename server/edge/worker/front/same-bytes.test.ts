// The front and the Node server must answer with the same bytes: headers that callers read, bodies, frames and ends of
// streams.
import { afterAll, beforeAll, expect, test } from "vitest"
import { enveloped, utf8 } from "../../../node/testing/ask.ts"
import { startFront, startTransports } from "../../../node/testing/transport-server.ts"

let node: { url: string; close(): Promise<unknown> }
let front: { url: string; close(): Promise<unknown> }
beforeAll(async () => {
  const started = await startTransports({ calls: "connect" })
  node = { url: started.url, close: () => started.app.close() }
  front = await startFront()
})
afterAll(() => Promise.all([node.close(), front.close()]))

interface Reply {
  status: number
  headers: Record<string, string>
  body: string
}

/** Headers of the connection and the server, which no caller uses. */
const passing = new Set([
  "connection",
  "content-length",
  "date",
  "keep-alive",
  "transfer-encoding",
  "vary",
  "x-content-type-options",
])

/** @param isOpen For an endless stream: only its first chunk is read. */
async function replyTo(url: string, path: string, init: RequestInit, isOpen: boolean): Promise<Reply> {
  const stop = new AbortController()
  const response = await fetch(url + path, { ...init, signal: stop.signal })
  const headers = [...response.headers].filter(([name]) => !passing.has(name))
  const chunks: Uint8Array[] = []
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    if (isOpen) break
  }
  stop.abort()
  const body = Buffer.concat(chunks).toString("latin1")
  return {
    status: response.status,
    headers: Object.fromEntries(headers),
    body: body.replace(/urn:request:[0-9a-f-]{36}/, "urn:request:"),
  }
}

const watch = "/grpc.health.v1.Health/Watch"
const check = "/grpc.health.v1.Health/Check"
const refresh = "/signet.auth.v1.AuthService/Refresh"
const me = "/signet.auth.v1.AuthService/Me"
const empty = enveloped(new Uint8Array())
const json = enveloped(utf8("{}"))
const post = (type: string, body: Uint8Array | string, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": type, ...headers },
  body: typeof body === "string" ? body : body.slice(),
})
const refused = { "x-refuse": "NO_CREDENTIAL" }

const calls: [what: string, path: string, init: RequestInit, isOpen?: boolean][] = [
  ["an open stream of Connect JSON", watch, post("application/connect+json", json), true],
  ["an open stream of Connect", watch, post("application/connect+proto", empty), true],
  ["an open stream of gRPC-Web", watch, post("application/grpc-web+proto", empty), true],
  ["an open stream of gRPC-Web without a codec", watch, post("application/grpc-web", empty), true],
  ["an open stream of gRPC-Web JSON", watch, post("application/grpc-web+json", json), true],
  ["a refused stream of Connect", watch, post("application/connect+json", json, refused)],
  ["a refused stream of gRPC-Web", watch, post("application/grpc-web+proto", empty, refused)],
  ["a stream without a request message", watch, post("application/connect+proto", "")],
  ["a stream with two request messages", watch, post("application/grpc-web+proto", enveloped(new Uint8Array(70_000)))],
  ["a stream whose deadline has passed", watch, post("application/connect+json", json, { "connect-timeout-ms": "0" })],
  ["a stream with a unary content type", watch, post("application/json", "{}")],
  ["a unary call with a streaming content type", check, post("application/connect+json", json)],
  ["a compressed stream", watch, post("application/connect+json", json, { "connect-content-encoding": "gzip" })],
  ["a stream of no method", "/a.B/C", post("application/connect+json", json)],
  ["gRPC-Web of no method", "/a.B/C", post("application/grpc-web+proto", empty)],
  ["a call of no method", "/a.B/C", post("application/json", "{}")],
  ["a call", refresh, post("application/json", `{"refreshToken":"r"}`)],
  ["a call with cookies in its answer", me, post("application/json", "{}")],
  ["a refused call", refresh, post("application/json", "{}", refused)],
  [
    "a call that breaks a rule, of gRPC-Web",
    refresh,
    post("application/grpc-web+json", enveloped(utf8(`{"retryKey":"s"}`))),
  ],
  ["a GET", `${me}?encoding=json&message=%7B%7D`, { method: "GET" }],
  ["a GET in binary", `${me}?connect=v1&encoding=proto&base64=1&message=`, { method: "GET" }],
  ["a GET with another parameter", `${me}?encoding=json&message=%7B%7D&a=1`, { method: "GET" }],
  ["a GET without an encoding", `${me}?message=%7B%7D`, { method: "GET" }],
  ["a GET that is refused", `${me}?encoding=json&message=%7B%7D`, { method: "GET", headers: refused }],
  ["a GET of a method with side effects", `${refresh}?encoding=json&message=%7B%7D`, { method: "GET" }],
  ["another verb", refresh, { method: "PUT" }],
  ["REST", "/auth/session/refresh", post("application/json", `{"refreshToken":"r"}`)],
  ["REST that is refused", "/auth/session/refresh", post("application/json", "{", refused)],
  ["REST of no route", "/nothing", { method: "GET" }],
  ["a path that is not UTF-8", "/auth/%ff", { method: "GET" }],
]

test.each(calls)("%s", async (_, path, init, isOpen = false) => {
  const expected = await replyTo(node.url, path, init, isOpen)
  expect(await replyTo(front.url, path, init, isOpen)).toEqual(expected)
})
