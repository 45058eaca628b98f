// The gRPC client of most Node services, against the server, without code of this project in between.
import { Client, credentials, type Metadata, type ServiceError, status } from "@grpc/grpc-js"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import {
  Health,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus as Status,
} from "@signet/proto/grpc/health/v1/health"
import { ServerReflection, type ServerReflectionResponse } from "@signet/proto/grpc/reflection/v1/reflection"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearerMetadata, callUnary, failureOf, pathOf, reader, writer } from "../support/grpc-js.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

describe("grpc-js", () => {
  let server: TestServer
  let client: Client
  beforeAll(async () => {
    server = await startTestServer({ store: storyStore, maxConnections: 1 })
    client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure())
  })
  afterAll(async () => {
    client?.close()
    await server?.close()
  })
  const signIn = async (subject: string) =>
    callUnary(client, AuthService.method.externalLogin, await server.login(subject))

  test("signs in, calls, refreshes and signs out", async () => {
    const { accessToken, refreshToken, session, principal } = await signIn("grpc-js")
    const metadata = bearerMetadata(accessToken)
    const me = await callUnary(client, AuthService.method.me, {}, { metadata })
    expect(me.principal?.id).toBe(principal?.id)
    const { sessions } = await callUnary(client, SessionService.method.listSessions, {}, { metadata })
    expect(sessions.map(({ id }) => id)).toEqual([session?.id])
    const refreshed = await callUnary(client, AuthService.method.refresh, { refreshToken })
    await callUnary(client, AuthService.method.logout, { refreshToken: refreshed.refreshToken })
    const { code, info } = await failureOf(callUnary(client, AuthService.method.me, {}, { metadata }))
    expect([code, info?.reason]).toEqual(["UNAUTHENTICATED", "SESSION_REVOKED"])
  })

  test("reads a failure from its trailers: code, message, reason and metadata", async () => {
    const { accessToken } = await signIn("details")
    const failure = await failureOf(
      callUnary(
        client,
        SessionService.method.listSessions,
        { pageSize: 1_000_000 },
        { metadata: bearerMetadata(accessToken) },
      ),
    )
    expect(failure).toMatchObject({
      code: "INVALID_ARGUMENT",
      status: { code: status.INVALID_ARGUMENT, message: expect.stringMatching(/^[a-z]/) },
      info: { reason: "INVALID_FIELD", domain: "signet", metadata: { field: "page_size" } },
    })
  })

  test.each<[string, Metadata | undefined, string]>([
    ["without a token", undefined, "NO_CREDENTIAL"],
    ["with garbage for a token", bearerMetadata("garbage"), "MALFORMED_CREDENTIAL"],
  ])("is refused %s", async (_, metadata, reason) => {
    const { code, info } = await failureOf(callUnary(client, AuthService.method.me, {}, metadata ? { metadata } : {}))
    expect([code, info?.reason]).toEqual(["UNAUTHENTICATED", reason])
  })

  test("gets UNIMPLEMENTED for an unknown method", async () => {
    const method = { ...AuthService.method.me, name: "Nope" }
    expect((await failureOf(callUnary(client, method, {}))).code).toBe("UNIMPLEMENTED")
  })

  test("stops at its deadline, and retries with its retry key", async () => {
    const { refreshToken } = await signIn("deadline")
    const request = { refreshToken, retryKey: "0123456789abcdefghijkl" }
    const done = Promise.withResolvers<void>()
    // The only connection is busy, so the refresh waits.
    const busy = server.store.db.transaction().execute(() => done.promise)
    const deadline = Date.now() + 300
    const { code } = await failureOf(callUnary(client, AuthService.method.refresh, request, { deadline }))
    expect(code).toBe("DEADLINE_EXCEEDED")
    done.resolve()
    await busy
    expect((await callUnary(client, AuthService.method.refresh, request)).refreshToken).toMatch(/^sgrt_/)
  })

  test("checks the health of the server and of each service", async () => {
    expect((await callUnary(client, Health.method.check, {})).status).toBe(Status.SERVING)
    const { statuses } = await callUnary(client, Health.method.list, {})
    for (const service of [AuthService, SessionService]) {
      expect(statuses[service.typeName]?.status).toBe(Status.SERVING)
      expect((await callUnary(client, Health.method.check, { service: service.typeName })).status).toBe(Status.SERVING)
    }
    expect((await failureOf(callUnary(client, Health.method.check, { service: "nope" }))).code).toBe("NOT_FOUND")
  })

  test("watches the health until it cancels", async () => {
    const { watch } = Health.method
    const stream = client.makeServerStreamRequest(pathOf(watch), writer(watch.input), reader(watch.output), {})
    const ended = new Promise<ServiceError>((resolve) => stream.on("error", resolve))
    const first = await new Promise<HealthCheckResponse>((resolve) => stream.once("data", resolve))
    expect(first.status).toBe(Status.SERVING)
    stream.cancel()
    expect((await ended).code).toBe(status.CANCELLED)
  })

  test("finds the services by reflection", async () => {
    const { serverReflectionInfo } = ServerReflection.method
    const stream = client.makeBidiStreamRequest(
      pathOf(serverReflectionInfo),
      writer(serverReflectionInfo.input),
      reader(serverReflectionInfo.output),
    )
    stream.write({ messageRequest: { case: "listServices", value: "" } })
    const answer = await new Promise<ServerReflectionResponse>((resolve, reject) => {
      stream.once("data", resolve).once("error", reject)
    })
    stream.end()
    const { messageResponse } = answer
    const listed = messageResponse.case === "listServicesResponse" ? messageResponse.value.service : []
    expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining([AuthService.typeName, Health.typeName]))
  })
})
