// Starts the services under test on Node's server with all protocols.
import type { DescService } from "@bufbuild/protobuf"
import { createContextValues, type Interceptor } from "@connectrpc/connect"
import { Health } from "@signet/proto/grpc/health/v1/health"
import type { FastifyInstance } from "fastify"
import { serveFetch } from "../../edge/node/testing/serve-fetch.ts"
import { frontUnderTest } from "../../edge/worker/testing/front-under-test.ts"
import type { HealthState } from "../../rpc/health/health.ts"
import { validate } from "../../serving/interceptors/validate.ts"
import { createHttp, shutdownOf } from "../http.ts"
import type { ListenerOptions } from "../listener.ts"
import { reflectionRoutes } from "../reflection.ts"
import { restPlugin } from "../rest-plugin.ts"
import { rpcPlugin } from "../rpc-plugin.ts"
import { services, underTest } from "./under-test.ts"

const checks = [validate([...services, Health].flatMap((service) => service.methods.map((method) => method.input)))]

export interface TransportServer {
  readonly app: FastifyInstance
  readonly url: string
  readonly port: number
  readonly health: HealthState
  /** Faults and reached handlers since the start. */
  readonly faults: unknown[]
  readonly reached: string[]
}

export interface TransportOptions {
  readonly listener?: ListenerOptions
  readonly limitMs?: number
  readonly drainMs?: number
  readonly calls?: "ours" | "connect"
  readonly more?: readonly Interceptor[]
  /** The services that reflection lists; absent disables reflection. */
  readonly reflected?: readonly DescService[]
  readonly add?: (app: FastifyInstance) => void | Promise<void>
}

export async function startTransports(options: TransportOptions = {}): Promise<TransportServer> {
  const { faults, reached, onFault, health, called } = underTest({ ...options, checks })
  const app = createHttp({ onFault, ...(options.listener ? { listener: options.listener } : {}) })
  const { closing, shutdown } = shutdownOf(app, options.drainMs)
  app.addHook("preClose", async () => health.stop())
  const common = {
    ...called,
    contextValues: () => createContextValues(),
    closingSignal: closing,
    shutdownSignal: shutdown,
    ...(options.calls ? { calls: options.calls } : {}),
  }
  const { routes } = called
  await app.register(rpcPlugin, {
    ...common,
    routes(router) {
      routes(router)
      health.routes(router)
    },
  })
  // As in app.ts: reflection has no validation rules.
  const { reflected, more = [] } = options
  if (reflected) {
    await app.register(rpcPlugin, { ...common, interceptors: more, routes: reflectionRoutes(reflected) })
  }
  await app.register(restPlugin, common)
  await options.add?.(app)
  const url = await app.listen({ host: "127.0.0.1", port: 0 })
  return { app, url, port: Number(new URL(url).port), health, faults, reached }
}

/** Starts the same services on the Worker's front. */
export async function startFront() {
  const { front, faults, reached } = frontUnderTest({ checks })
  return { ...(await serveFetch(front)), faults, reached }
}
