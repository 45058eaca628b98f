// The transports with the contract's own services, answered by a few lines: what is under test is how calls arrive.
import type { DescService } from "@bufbuild/protobuf"
import { type ConnectRouter, createContextValues, type Interceptor } from "@connectrpc/connect"
import { type Reason, Refused } from "@signet/kernel/errors"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { Session_Status } from "@signet/proto/auth/v1/records"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { TokenService } from "@signet/proto/auth/v1/token_service"
import type { FastifyInstance } from "fastify"
import { serveFetch } from "../../edge/node/testing/serve-fetch.ts"
import { createFront } from "../../edge/worker/front/front.ts"
import { type HealthState, healthState } from "../../rpc/health.ts"
import { deadline } from "../../rpc/interceptors/deadline.ts"
import { errors } from "../../rpc/interceptors/errors.ts"
import { validate } from "../../rpc/interceptors/validate.ts"
import { createHttp, shutdownOf } from "../http.ts"
import type { ListenerOptions } from "../listener.ts"
import { reflectionRoutes } from "../reflection.ts"
import { restPlugin } from "../rest-plugin.ts"
import { rpcPlugin } from "../rpc-plugin.ts"

export const services = [AuthService, SessionService, TokenService]

/** What a bearer token of these tests makes the gate or the handlers do. */
const isReason = (text: string): text is Reason => /^[A-Z_]+$/.test(text)

export interface TransportServer {
  readonly app: FastifyInstance
  readonly url: string
  readonly port: number
  readonly health: HealthState
  /** Faults that were heard of, and handlers that were reached, since the start. */
  readonly faults: unknown[]
  readonly reached: string[]
}

export interface TransportOptions {
  readonly listener?: ListenerOptions
  readonly limitMs?: number
  readonly drainMs?: number
  readonly unary?: "ours" | "connect"
  readonly more?: readonly Interceptor[]
  /** The services that reflection tells of; none: no reflection. */
  readonly reflected?: readonly DescService[]
  readonly add?: (app: FastifyInstance) => void | Promise<void>
}

export async function startTransports(options: TransportOptions = {}): Promise<TransportServer> {
  const { faults, reached, onFault, health, called } = underTest(options)
  const app = createHttp({ onFault, ...(options.listener ? { listener: options.listener } : {}) })
  const { closing, shutdown } = shutdownOf(app, options.drainMs)
  app.addHook("preClose", async () => health.stop())
  const common = {
    ...called,
    contextValues: () => createContextValues(),
    closingSignal: closing,
    shutdownSignal: shutdown,
    ...(options.unary ? { unary: options.unary } : {}),
  }
  const { routes } = called
  await app.register(rpcPlugin, {
    ...common,
    routes(router) {
      routes(router)
      health.routes(router)
      if (options.reflected) reflectionRoutes(options.reflected)(router)
    },
  })
  await app.register(restPlugin, common)
  await options.add?.(app)
  const url = await app.listen({ host: "127.0.0.1", port: 0 })
  return { app, url, port: Number(new URL(url).port), health, faults, reached }
}

/** The same services on the front that the Worker has. */
export async function startFront(options: TransportOptions = {}) {
  const { faults, reached, health, called } = underTest(options)
  const { interceptors } = called
  const front = createFront({
    ...called,
    open: { routes: health.routes, interceptors },
    isAllowedOrigin: async (origin) => origin === "https://app.example",
    isReady: async () => true,
    addressOf: () => "203.0.113.7",
  })
  return { ...(await serveFetch(front)), faults, reached }
}

function underTest(options: TransportOptions) {
  const faults: unknown[] = []
  const reached: string[] = []
  const onFault = (fault: unknown) => void faults.push(fault)
  const called = {
    onFault,
    interceptors: [
      ...(options.more ?? []),
      errors(onFault),
      deadline(options.limitMs ?? 5_000),
      validate(services.flatMap((service) => service.methods.map((method) => method.input))),
    ],
    requestGate: gate,
    routes: (router: ConnectRouter) => serve(router, reached),
  }
  return { faults, reached, onFault, called, health: healthState(services.map(({ typeName }) => typeName)) }
}

/** Refuses with the reason that the header names. */
function gate({ requestHeader }: { requestHeader: Headers }): void {
  const reason = requestHeader.get("x-refuse") ?? ""
  if (isReason(reason)) throw new Refused(reason, { metadata: { scope: "notes.read", max_age: "60" } })
}

function serve(router: ConnectRouter, reached: string[]): void {
  router.service(AuthService, {
    externalLogin({ appId, provider, platform }) {
      reached.push("externalLogin")
      return { tokenType: "Bearer", expiresIn: provider, session: { appId }, created: platform === 3 }
    },
    refresh({ refreshToken, retryKey }) {
      reached.push("refresh")
      return { refreshToken, accessToken: retryKey }
    },
    async logout({ refreshToken }, { signal }) {
      reached.push("logout")
      if (refreshToken === "fault") throw new TypeError("a secret that nobody may see")
      if (refreshToken === "rate") throw new Refused("RATE_LIMITED", { metadata: { retry_after: "7" } })
      if (refreshToken === "null") throw null
      if (refreshToken === "slow") await new Promise((resolve) => signal.addEventListener("abort", resolve))
      return {}
    },
    logoutAll: ({ exceptCurrent }) => ({ revokedSessions: exceptCurrent ? 1 : 2 }),
    me(_, { responseHeader }) {
      responseHeader.append("set-cookie", "a=1; Path=/")
      responseHeader.append("set-cookie", "b=2; Path=/")
      return { identity: { id: "idn_1" } }
    },
  })
  router.service(SessionService, {
    listSessions({ pageSize, pageToken }) {
      reached.push("listSessions")
      return { sessions: [{ id: pageToken, status: Session_Status.ACTIVE }], nextPageToken: String(pageSize) }
    },
    revokeSession: () => ({}),
  })
  router.service(TokenService, {
    getJwks(_, { responseHeader }) {
      responseHeader.set("cache-control", "public, max-age=300, stale-while-revalidate=600")
      return { keys: [{ kty: "EC", kid: "k1" }] }
    },
  })
}
