// The same calls to a server and through a gateway in front of it must have the same answers.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { createClient, type Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import grpc from "@grpc/grpc-js"
import { rest } from "@signet/client"
import { AuthService, LogoutRequestSchema, RefreshRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { StatusSchema } from "@signet/proto/google/rpc/status"
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Status,
} from "@signet/proto/grpc/health/v1/health"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { makeCertificate } from "../../../../test/support/certificate.ts"
import { type Ask, ask, enveloped, isJsonProtocol, protocols, utf8 } from "../../../node/testing/ask.ts"
import { startTransports, type TransportServer } from "../../../node/testing/transport-server.ts"
import { type RunningGateway, startGateway } from "../testing/gateways.ts"

let server: TransportServer
let gateway: RunningGateway
beforeAll(async () => {
  server = await startTransports()
  // The header by which the test server selects a refusal.
  gateway = await startGateway(server.url, { moreHeaders: ["x-refuse"] })
})
afterAll(async () => {
  await gateway.close()
  await server.app.close()
})

const binary = (refreshToken: string) =>
  toBinary(RefreshRequestSchema, create(RefreshRequestSchema, { refreshToken, retryKey: "" }))
const both = (json: string, proto: Uint8Array, more: Partial<Ask> = {}) => ({ json, proto, more })
const fine = both(`{"refreshToken":"r"}`, binary("r"))
const large = "x".repeat(70_000)

describe.each(protocols)("%s through the gateway", (protocol) => {
  test.each<[string, ReturnType<typeof both>]>([
    ["a call", fine],
    ["an empty message", both("{}", new Uint8Array())],
    ["a large message", both(`{"refreshToken":"${large}"}`, binary(large))],
    ["half a message", both("{", Uint8Array.of(0x0a, 0x05, 0x41))],
    ["a refusal before the body", { ...fine, more: { headers: { "x-refuse": "NO_CREDENTIAL" } } }],
    ["an unknown method", { ...fine, more: { rpc: "/signet.auth.v1.AuthService/Nope", rest: "/auth/nope" } }],
    ["an unknown service", { ...fine, more: { rpc: "/a.B/C", rest: "/" } }],
    ["an unknown content type", { ...fine, more: { contentType: "text/plain" } }],
    ["a compressed message", { ...fine, more: { headers: { "grpc-encoding": "gzip", "content-encoding": "gzip" } } }],
    ["an invalid deadline", { ...fine, more: { timeoutMs: -1 } }],
    ["a deadline that has passed", { ...fine, more: { timeoutMs: 0 } }],
    ["a deadline of a year", { ...fine, more: { headers: { "grpc-timeout": "8760H" } } }],
  ])("%s has the same answer without the gateway", async (_, { json, proto, more }) => {
    const body = isJsonProtocol(protocol) ? utf8(json) : proto
    const of = { rpc: "/signet.auth.v1.AuthService/Refresh", rest: "/auth/session/refresh", body, ...more }
    expect(await ask(gateway.url, protocol, of)).toEqual(await ask(server.url, protocol, of))
  })
})

describe.each<[string, (baseUrl: string) => Transport]>([
  ["Connect JSON", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  [
    "Connect with GET over HTTP/2",
    (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2", useHttpGet: true, useBinaryFormat: true }),
  ],
  ["gRPC", (baseUrl) => createGrpcTransport({ baseUrl })],
  ["gRPC with JSON", (baseUrl) => createGrpcTransport({ baseUrl, useBinaryFormat: false })],
  ["gRPC-Web", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
  ["gRPC-Web over HTTP/2", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "2" })],
])("a client of %s", (_, open) => {
  test("calls a method and gets its answer", async () => {
    const answer = await createClient(SessionService, open(gateway.url)).listSessions({ pageSize: 7, pageToken: "ü" })
    expect(answer).toMatchObject({ nextPageToken: "7", sessions: [{ id: "ü" }] })
  })

  test("gets a refusal with the server's details and headers", async () => {
    const told = async (url: string) => {
      const call = createClient(AuthService, open(url)).logout({ refreshToken: "rate" })
      const error = await call.then(
        () => undefined,
        (thrown) => thrown,
      )
      const { code, rawMessage, details, metadata } = error
      return { code, rawMessage, details, retryAfter: metadata.get("retry-after") }
    }
    const through = await told(gateway.url)
    expect(through).toEqual(await told(server.url))
    expect(through.retryAfter).toBe("7")
  })

  test("reads a stream from its start, and cancels it", async () => {
    const stop = new AbortController()
    const seen: Status[] = []
    try {
      for await (const { status } of createClient(Health, open(gateway.url)).watch({}, { signal: stop.signal })) {
        seen.push(status)
        stop.abort()
      }
    } catch {}
    expect(seen).toEqual([Status.SERVING])
  })
})

test("REST is forwarded over HTTP/1.1, with its response headers", async () => {
  const client = createClient(SessionService, rest({ baseUrl: gateway.url }))
  expect(await client.listSessions({ pageSize: 3 })).toMatchObject({ nextPageToken: "3" })
  const cookies = (await fetch(`${gateway.url}/auth/session/me`)).headers.getSetCookie()
  expect(cookies).toEqual(["a=1; Path=/", "b=2; Path=/"])
})

describe("gRPC's own client", () => {
  let client: grpc.Client
  const asIs = (bytes: Buffer) => bytes
  beforeAll(() => {
    client = new grpc.Client(`127.0.0.1:${gateway.port}`, grpc.credentials.createInsecure())
  })
  afterAll(() => client.close())
  const logout = (refreshToken: string, options: grpc.CallOptions = {}) =>
    new Promise<Buffer | grpc.ServiceError>((resolve) => {
      const message = Buffer.from(toBinary(LogoutRequestSchema, create(LogoutRequestSchema, { refreshToken })))
      const path = "/signet.auth.v1.AuthService/Logout"
      client.makeUnaryRequest(path, asIs, asIs, message, new grpc.Metadata(), options, (error, answer) =>
        resolve(error ?? answer ?? Buffer.alloc(0)),
      )
    })

  test("calls a method and gets its answer", async () => {
    expect(await logout("x")).toEqual(Buffer.alloc(0))
  })

  test("finds status and details in the trailers", async () => {
    const error = await logout("rate")
    expect(error).toMatchObject({ code: grpc.status.RESOURCE_EXHAUSTED })
    const [bytes] = error instanceof Error ? error.metadata.get("grpc-status-details-bin") : []
    const [first] = Buffer.isBuffer(bytes) ? fromBinary(StatusSchema, bytes).details : []
    expect(first && fromBinary(ErrorInfoSchema, first.value).reason).toBe("RATE_LIMITED")
  })

  test("has its deadline enforced", async () => {
    expect(await logout("slow", { deadline: Date.now() + 150 })).toMatchObject({ code: grpc.status.DEADLINE_EXCEEDED })
  })

  test("cancels a stream", async () => {
    const message = Buffer.from(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema)))
    const stream = client.makeServerStreamRequest("/grpc.health.v1.Health/Watch", asIs, asIs, message)
    expect(await new Promise<Buffer>((resolve) => stream.once("data", resolve))).toEqual(Buffer.of(8, 1))
    const ended = new Promise<grpc.ServiceError>((resolve) => stream.once("error", resolve))
    stream.cancel()
    expect((await ended).code).toBe(grpc.status.CANCELLED)
  })

  test("gets the reason when the target ends its stream", async () => {
    const other = await startTransports()
    const front = await startGateway(other.url)
    const watcher = createClient(Health, createGrpcTransport({ baseUrl: front.url })).watch({})
    const seen: Status[] = []
    const ended = (async () => {
      for await (const { status } of watcher) {
        seen.push(status)
        if (status === Status.SERVING) void other.app.close()
      }
    })()
    await ended.catch((error) => seen.push(error.code))
    expect(seen[0]).toBe(Status.SERVING)
    await front.close()
  })
})

const certificate = makeCertificate()

test.skipIf(certificate === undefined)("HTTP/2 and HTTP/1.1 share one TLS port", async () => {
  const front = await startGateway(server.url, certificate ? { listener: { tls: certificate } } : {})
  const nodeOptions = { ca: certificate?.cert ?? "" }
  for (const transport of [
    createGrpcTransport({ baseUrl: front.url, nodeOptions }),
    createConnectTransport({ baseUrl: front.url, httpVersion: "1.1", nodeOptions }),
  ]) {
    expect(await createClient(SessionService, transport).listSessions({ pageSize: 7 })).toMatchObject({
      nextPageToken: "7",
    })
  }
  await front.close()
})

test("a message is forwarded without decoding", async () => {
  const body = enveloped(Uint8Array.of(...binary("r"), 0xfa, 0x3f, 0x01, 0x41))
  const refresh = { rpc: "/signet.auth.v1.AuthService/Refresh", rest: "", body, unframed: true }
  expect(await ask(gateway.url, "gRPC", refresh)).toMatchObject({ status: 200, reason: "" })
})
