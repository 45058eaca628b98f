// One port with a certificate: ALPN selects HTTP/1.1 or HTTP/2, and each protocol works as without TLS.
import { once } from "node:events"
import { request } from "node:https"
import { connect as connectPlain } from "node:net"
import { text } from "node:stream/consumers"
import { type ConnectionOptions, connect } from "node:tls"
import type { Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { Client, credentials } from "@grpc/grpc-js"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { makeCertificate } from "../support/certificate.ts"
import { bearer, clientsOver, refusal } from "../support/clients.ts"
import { bearerMetadata, callUnary } from "../support/grpc-js.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const tls = makeCertificate()
const ca = tls?.cert ?? ""

describe.skipIf(tls === undefined)(`TLS${tls ? "" : " (skipped: no openssl)"}`, () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ store: storyStore, ...(tls && { tls }) })
  })
  afterAll(() => server?.close())

  /** @returns The negotiated protocol; false for none. */
  async function agree(options: ConnectionOptions): Promise<string | false | null> {
    const socket = connect({ host: "127.0.0.1", port: server.port, ca, servername: "localhost", ...options })
    try {
      await once(socket, "secureConnect")
      return socket.alpnProtocol
    } finally {
      socket.destroy()
    }
  }

  test.each<[string, string[] | undefined, string | false]>([
    ["HTTP/2 with a client of both", ["http/1.1", "h2"], "h2"],
    ["HTTP/2 with a client of HTTP/2 only", ["h2"], "h2"],
    ["HTTP/1.1 with a client of HTTP/1.1 only", ["http/1.1"], "http/1.1"],
    ["nothing with a client without ALPN", undefined, false],
  ])("agrees on %s", async (_, protocols, agreed) => {
    expect(await agree(protocols ? { ALPNProtocols: protocols } : {})).toBe(agreed)
  })

  test("is required, and insecure versions are refused", async () => {
    await expect(
      agree({ minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" }),
    ).rejects.toMatchObject({ code: "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION" })
    const socket = connectPlain(server.port, "127.0.0.1")
    socket.write("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n")
    expect(await text(socket).catch(() => "cut")).not.toMatch(/^HTTP\/1.1 2/)
  })

  const transports: Record<string, (baseUrl: string) => Transport> = {
    "Connect over HTTP/1.1": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1", nodeOptions: { ca } }),
    "Connect over HTTP/2": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2", nodeOptions: { ca } }),
    gRPC: (baseUrl) => createGrpcTransport({ baseUrl, nodeOptions: { ca } }),
    "gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1", nodeOptions: { ca } }),
  }

  test.each(Object.entries(transports))("carries a session over %s", async (name, transport) => {
    const clients = clientsOver(transport(`https://localhost:${server.port}`))
    const first = await clients.auth.externalLogin(await server.login(name))
    const { refreshToken, accessToken } = await clients.auth.refresh({ refreshToken: first.refreshToken })
    expect((await clients.auth.me({}, bearer(accessToken))).principal?.id).toBe(first.principal?.id)
    await clients.auth.logout({ refreshToken })
    expect(await refusal(clients.auth.me({}, bearer(accessToken)))).toBe("Unauthenticated SESSION_REVOKED")
  })

  test("carries a session over grpc-js", async () => {
    const client = new Client(`localhost:${server.port}`, credentials.createSsl(Buffer.from(ca)))
    const { accessToken, principal } = await callUnary(
      client,
      AuthService.method.externalLogin,
      await server.login("grpc-js"),
    )
    const me = await callUnary(client, AuthService.method.me, {}, { metadata: bearerMetadata(accessToken) })
    expect(me.principal?.id).toBe(principal?.id)
    client.close()
  })

  test("carries REST", async () => {
    const asked = request(`${server.url}/.well-known/jwks.json`, { ca }).end()
    const [response] = await once(asked, "response")
    expect(response.statusCode).toBe(200)
    expect(JSON.parse(await text(response)).keys).toHaveLength(2)
  })
})
