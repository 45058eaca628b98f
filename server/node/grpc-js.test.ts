// gRPC through its own JavaScript client, without Connect on the client's side.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import grpc from "@grpc/grpc-js"
import { LogoutRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { StatusSchema } from "@signet/proto/google/rpc/status"
import { HealthCheckRequestSchema, HealthCheckResponseSchema } from "@signet/proto/grpc/health/v1/health"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startTransports, type TransportServer } from "./testing/transport-server.ts"

let server: TransportServer
let client: grpc.Client
const logout = "/signet.auth.v1.AuthService/Logout"
const asIs = (bytes: Buffer) => bytes

function call(path: string, message: Uint8Array, options: grpc.CallOptions = {}): Promise<Buffer | grpc.ServiceError> {
  return new Promise((resolve) => {
    const done = (error: grpc.ServiceError | null, answer?: Buffer) => resolve(error ?? answer ?? Buffer.alloc(0))
    client.makeUnaryRequest(path, asIs, asIs, Buffer.from(message), new grpc.Metadata(), options, done)
  })
}

const request = (refreshToken: string) => toBinary(LogoutRequestSchema, create(LogoutRequestSchema, { refreshToken }))

function reasonOf(error: Buffer | grpc.ServiceError): string | undefined {
  if (!(error instanceof Error)) return undefined
  const [details] = error.metadata.get("grpc-status-details-bin")
  if (!Buffer.isBuffer(details)) return undefined
  const [first] = fromBinary(StatusSchema, details).details
  return first && fromBinary(ErrorInfoSchema, first.value).reason
}

describe.each(["ours", "connect"] as const)("with calls by %s", (calls) => {
  beforeAll(async () => {
    server = await startTransports({ calls })
    client = new grpc.Client(`127.0.0.1:${server.port}`, grpc.credentials.createInsecure())
  })
  afterAll(async () => {
    client.close()
    await server.app.close()
  })

  test("a call is answered", async () => {
    expect(await call(logout, request("x"))).toEqual(Buffer.alloc(0))
  })

  test.each<[string, string, Uint8Array, grpc.status, string]>([
    ["a refusal", logout, request("rate"), grpc.status.RESOURCE_EXHAUSTED, "RATE_LIMITED"],
    ["a fault", logout, request("fault"), grpc.status.INTERNAL, "INTERNAL"],
    ["a large message", logout, request("x".repeat(70_000)), grpc.status.RESOURCE_EXHAUSTED, "BODY_TOO_LARGE"],
    ["a broken message", logout, Uint8Array.of(255), grpc.status.INVALID_ARGUMENT, "MALFORMED_REQUEST"],
    ["an unknown method", "/signet.auth.v1.AuthService/Nope", request(""), grpc.status.UNIMPLEMENTED, "METHOD_UNKNOWN"],
  ])("%s has its status and reason", async (_, path, message, code, reason) => {
    const error = await call(path, message)
    expect(error).toMatchObject({ code })
    expect(reasonOf(error)).toBe(reason)
  })

  test("a deadline ends a running call", async () => {
    const error = await call(logout, request("slow"), { deadline: Date.now() + 150 })
    expect(error).toMatchObject({ code: grpc.status.DEADLINE_EXCEEDED })
  })

  test("a compressed message is refused", async () => {
    const compressing = new grpc.Client(`127.0.0.1:${server.port}`, grpc.credentials.createInsecure(), {
      "grpc.default_compression_algorithm": 2,
    })
    const error = await new Promise<grpc.ServiceError | null>((resolve) =>
      compressing.makeUnaryRequest(logout, asIs, asIs, Buffer.from(request("x")), (failed) => resolve(failed)),
    )
    compressing.close()
    expect(error && reasonOf(error)).toBe("UNSUPPORTED_MEDIA_TYPE")
  })

  test("a stream continues until its client disconnects", async () => {
    const path = "/grpc.health.v1.Health/Watch"
    const message = toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema))
    const stream = client.makeServerStreamRequest(path, asIs, asIs, Buffer.from(message))
    const first = await new Promise<Buffer>((resolve) => stream.once("data", resolve))
    expect(fromBinary(HealthCheckResponseSchema, first).status).toBe(1)
    const ended = new Promise<grpc.ServiceError>((resolve) => stream.once("error", resolve))
    stream.cancel()
    expect((await ended).code).toBe(grpc.status.CANCELLED)
  })
})
