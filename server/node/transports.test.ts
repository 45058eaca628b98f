import { type Client, createClient, type Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { connect } from "@signet/client"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { Platform, Provider } from "@signet/proto/auth/v1/records"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { TokenService } from "@signet/proto/auth/v1/token_service"
import { Health, HealthCheckResponse_ServingStatus as Status } from "@signet/proto/grpc/health/v1/health"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startFront, startTransports } from "./testing/transport-server.ts"

const appId = "app_00000000000000000000000000"
interface Served {
  readonly url: string
  close(): Promise<unknown>
}
let server: Served
type Open = (baseUrl: string) => Transport
const transports: [string, Open][] = [
  ["Connect JSON, HTTP/1.1", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  [
    "Connect binary, HTTP/1.1",
    (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true }),
  ],
  ["Connect with GET", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1", useHttpGet: true })],
  ["Connect binary over fetch, as clients do", (baseUrl) => connect({ baseUrl })],
  ["Connect JSON, HTTP/2", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" })],
  ["gRPC", (baseUrl) => createGrpcTransport({ baseUrl })],
  ["gRPC-Web, HTTP/1.1", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
  ["gRPC-Web JSON, HTTP/2", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "2", useBinaryFormat: false })],
]

const served = async (calls: "ours" | "connect") => {
  const { url, app } = await startTransports({ calls })
  return { url, close: () => app.close() }
}

describe.each<[string, () => Promise<Served>, isHttp2: boolean]>([
  ["Node, calls by ours", () => served("ours"), true],
  ["Node, calls by Connect", () => served("connect"), true],
  ["fetch", () => startFront(), false],
])("by %s", (_, start, isHttp2) => {
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.close())

  describe.each(transports.filter(([name]) => isHttp2 || !/HTTP\/2|^gRPC$/.test(name)))("%s", (_, open) => {
    test("carries a call with its message", async () => {
      const client: Client<typeof AuthService> = createClient(AuthService, open(server.url))
      const answer = await client.externalLogin({
        appId,
        provider: Provider.IDP_A,
        platform: Platform.WEB,
        credential: { case: "idToken", value: "a.b.c" },
      })
      expect(answer).toMatchObject({ tokenType: "Bearer", expiresIn: 1, created: true, session: { appId } })
    })

    test("carries a read", async () => {
      const answer = await createClient(SessionService, open(server.url)).listSessions({ pageSize: 7, pageToken: "ü" })
      expect(answer).toMatchObject({ nextPageToken: "7", sessions: [{ id: "ü" }] })
    })

    test("carries an empty message", async () => {
      const answer = await createClient(TokenService, open(server.url)).getJwks({})
      expect(answer.keys[0]?.kid).toBe("k1")
    })

    test("carries a stream", async () => {
      const seen: Status[] = []
      const stop = new AbortController()
      const watching = createClient(Health, open(server.url)).watch({ service: "" }, { signal: stop.signal })
      try {
        for await (const { status } of watching) {
          seen.push(status)
          stop.abort()
        }
      } catch {}
      expect(seen).toEqual([Status.SERVING])
    })
  })
})
