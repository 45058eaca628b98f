// The servers that are compared, each answering Refresh with the token that it was sent.
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { fromBinary, toBinary } from "@bufbuild/protobuf"
import type { ConnectRouter } from "@connectrpc/connect"
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify"
import grpc from "@grpc/grpc-js"
import { AuthService, RefreshRequestSchema, RefreshResponseSchema } from "@signet/proto/auth/v1/auth_service"
import Fastify, { type FastifyInstance } from "fastify"
import { createHttp } from "../../../server/node/http.ts"
import { restPlugin } from "../../../server/node/rest-plugin.ts"
import { rpcPlugin } from "../../../server/node/rpc-plugin.ts"
import { deadline } from "../../../server/serving/interceptors/deadline.ts"
import { errors } from "../../../server/serving/interceptors/errors.ts"
import { validate } from "../../../server/serving/interceptors/validate.ts"

export const paths = { rpc: "/signet.auth.v1.AuthService/Refresh", rest: "/auth/session/refresh" }

const routes = (router: ConnectRouter) =>
  void router.service(AuthService, { refresh: ({ refreshToken }) => ({ refreshToken }) })

/** Each starts its server and gives the port. */
export const variants = {
  async node() {
    const server: Server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const { refreshToken } = JSON.parse(Buffer.concat(chunks).toString())
        const body = JSON.stringify({ refreshToken })
        response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
        response.end(body)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return portOf(server.address())
  },

  async fastify() {
    const app = Fastify()
    const schema = { type: "object", properties: { refreshToken: { type: "string" } } }
    app.post<{ Body: { refreshToken: string } }>(
      paths.rest,
      { schema: { body: schema, response: { 200: schema } } },
      async ({ body }) => ({ refreshToken: body.refreshToken }),
    )
    return listen(app)
  },

  async connectFastify() {
    const app = Fastify()
    await app.register(fastifyConnectPlugin, { routes })
    return listen(app)
  },

  async connectFastifyHttp2() {
    const app = Fastify({ http2: true })
    await app.register(fastifyConnectPlugin, { routes })
    await app.listen({ host: "127.0.0.1", port: 0 })
    return portOf(app.server.address())
  },

  async grpcJs() {
    const server = new grpc.Server()
    const definition: grpc.ServiceDefinition = {
      refresh: {
        path: paths.rpc,
        requestStream: false,
        responseStream: false,
        requestSerialize: (message) => Buffer.from(toBinary(RefreshRequestSchema, message)),
        requestDeserialize: (bytes) => fromBinary(RefreshRequestSchema, bytes),
        responseSerialize: (message) => Buffer.from(toBinary(RefreshResponseSchema, message)),
        responseDeserialize: (bytes) => fromBinary(RefreshResponseSchema, bytes),
      },
    }
    const refresh: grpc.handleUnaryCall<{ refreshToken: string }, unknown> = ({ request }, answer) =>
      answer(null, { $typeName: RefreshResponseSchema.typeName, refreshToken: request.refreshToken })
    server.addService(definition, { refresh })
    return new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      )
    })
  },

  /** As the program is put together, but for the guard, telemetry and what a handler does. */
  async ours() {
    const onFault = (fault: unknown) => console.error(fault)
    const app = createHttp({ onFault })
    const interceptors = [errors(onFault), deadline(30_000), validate([RefreshRequestSchema])]
    await app.register(rpcPlugin, { routes, interceptors, onFault })
    await app.register(restPlugin, { routes, interceptors, onFault })
    return listen(app)
  },
}

export type Variant = keyof typeof variants
export const isVariant = (name: string): name is Variant => Object.hasOwn(variants, name)

async function listen(app: FastifyInstance): Promise<number> {
  await app.listen({ host: "127.0.0.1", port: 0 })
  return portOf(app.server.address())
}

const portOf = (address: AddressInfo | string | null): number =>
  typeof address === "object" && address !== null ? address.port : 0
