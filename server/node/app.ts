// Assembles the public server: one port, every protocol, one chain of interceptors.

import type { DescService } from "@bufbuild/protobuf"
import type { Tracer } from "@opentelemetry/api"
import { createVerifier } from "@signet/guard/access-token"
import { createConnectGuard } from "@signet/guard/connect"
import { anyApp, createGuard } from "@signet/guard/guard"
import { createLocalKeySet } from "@signet/guard/key-set"
import { nodeTokenCrypto } from "@signet/guard/node/token-crypto"
import { createLiveness } from "@signet/guard/revocation/liveness"
import type { Liveness } from "@signet/kernel/authz/liveness-ports"
import type { PlaceMoves } from "@signet/kernel/messaging/moving"
import { Health } from "@signet/proto/grpc/health/v1/health"
import type { FastifyBaseLogger, FastifyInstance } from "fastify"
import { auditRefusals } from "../rpc/audit/audit-refusals.ts"
import type { Deps } from "../rpc/deps.ts"
import { healthState } from "../rpc/health/health.ts"
import type { MessagingDeps } from "../rpc/messaging/deps.ts"
import { storedPermissions } from "../rpc/permission/stored-permissions.ts"
import type { RevocationFeed } from "../rpc/revocation/feed.ts"
import { deadline } from "../serving/interceptors/deadline.ts"
import { deviceProof } from "../serving/interceptors/device-proof.ts"
import { errors } from "../serving/interceptors/errors.ts"
import { validate } from "../serving/interceptors/validate.ts"
import { callLog } from "./call-log.ts"
import { contextValuesOf } from "./caller.ts"
import { addConsole, type ConsoleSettings } from "./console.ts"
import { addCors, remembered } from "./cors.ts"
import { auditDenials } from "./denials.ts"
import { addDocs } from "./docs.ts"
import { createHttp, shutdownOf } from "./http.ts"
import type { Metrics } from "./metrics.ts"
import { addProbes, type CompletenessChecks, type ReadinessChecks } from "./probes.ts"
import { reflectionRoutes } from "./reflection.ts"
import { restPlugin } from "./rest-plugin.ts"
import { serviceRoutes, services } from "./routes.ts"
import { rpcPlugin } from "./rpc-plugin.ts"
import { traced } from "./tracing.ts"

interface AppOptions {
  deps: Deps
  messaging: MessagingDeps
  moving: PlaceMoves
  /** The audience of the messaging service's tokens. */
  messagingAudience: string
  liveness: Liveness
  revocations: RevocationFeed
  log: FastifyBaseLogger
  metrics: Metrics
  /** Undefined without a receiver of spans. */
  tracer: Tracer | undefined
  /** Enables gRPC reflection, which lists all services: for development. */
  hasReflection: boolean
  tls: { cert: string; key: string } | null
  trustedHops: number
  /** How long idle connections stay open after the server began to close; 0 by default. */
  idleGraceMs?: number
  /** Maximum duration of a unary call, in milliseconds. */
  callLimitMs: number
  /** Conditions of `/readyz`. Default: the database has this program's migrations. */
  readiness?: ReadinessChecks
  /** Parts that `/readyz` names while they are incomplete. Default: none. */
  completeness?: CompletenessChecks
  /** What the console's pages need to know; null serves no console. */
  console: ConsoleSettings | null
}

const isMessaging = ({ typeName }: DescService): boolean => /^signet\.(messaging|transfer)\./.test(typeName)

/** Creates the server without listening. The caller listens and closes it. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { deps, messaging, log } = options
  const onFault = (fault: unknown) => log.error({ err: fault }, "fault")
  const app = createHttp({
    log,
    onFault,
    trustedHops: options.trustedHops,
    listener: { ...(options.tls && { tls: options.tls }), idleGraceMs: options.idleGraceMs ?? 0 },
  })
  const allowedOrigins = remembered(
    () => deps.store.transaction((tx) => tx.apps.listAllowedOrigins()),
    30_000,
    deps.clock.nowMs,
  )
  addCors(app, async (origin) => (await allowedOrigins()).includes(origin))

  const keySet = createLocalKeySet(deps.keys, nodeTokenCrypto)
  const liveness = createLiveness(options.liveness, deps.clock)
  const permissions = storedPermissions(deps.store, deps.clock)
  const { issuer, clock } = deps
  const verification = { issuer, appId: anyApp, keySet, crypto: nodeTokenCrypto, clock }
  const guardFor = (audience: string) => createGuard({ ...verification, audience, liveness, permissions })
  const verifyAny = createVerifier({ ...verification, audience: null, cacheSize: 10_000 })
  const authGuard = guardFor(deps.authAudience)
  const isSame = options.messagingAudience === deps.authAudience
  // With one audience, one guard, so that verified tokens are cached once.
  const messagingGuard = isSame ? authGuard : guardFor(options.messagingAudience)
  const guard = createConnectGuard({
    services,
    guard: authGuard,
    guardOf: (service) => (isMessaging(service) ? messagingGuard : undefined),
    onDeny: auditDenials(deps, verifyAny, onFault),
  })
  const health = healthState(services.map((service) => service.typeName))
  const { closing, shutdown } = shutdownOf(app)
  app.addHook("preClose", (done) => {
    health.stop()
    done()
  })

  const interceptors = [
    traced(options.tracer),
    options.metrics.interceptor,
    callLog(log),
    errors((fault, call) => log.error({ err: fault, method: call.method.name }, "fault")),
    auditRefusals({ ...deps, note: (refusal) => deps.store.limitRefusals.note(refusal).catch(onFault) }),
    deadline(options.callLimitMs),
    guard.interceptor,
    validate(services.flatMap((service) => service.methods.map((method) => method.input))),
    deviceProof({
      devices: messaging.store.devices,
      proofNonces: messaging.store.proofNonces,
      clock: messaging.clock,
      verify: messaging.verify,
      requirements: guard.requirements,
    }),
  ]
  const tokens = {
    ...deps,
    liveness,
    crypto: nodeTokenCrypto,
    verify: verifyAny,
  }
  const revocations = { feed: options.revocations, keys: deps.keys, clock, liveness, closing }
  const routes = serviceRoutes(tokens, { ...messaging, moving: options.moving }, revocations, messagingGuard)
  const common = { onFault, contextValues: contextValuesOf, requestGate: options.metrics.gated(guard.gate) }
  await app.register(rpcPlugin, { ...common, routes, interceptors, shutdownSignal: shutdown, closingSignal: closing })
  await app.register(restPlugin, { ...common, routes, interceptors, shutdownSignal: shutdown })
  await app.register(rpcPlugin, {
    onFault,
    interceptors: [errors(onFault)],
    closingSignal: closing,
    routes(router) {
      health.routes(router)
      if (options.hasReflection) reflectionRoutes([...services, Health])(router)
    },
  })
  addProbes(app, options.readiness ?? { database: () => deps.store.isReady() }, options.completeness)
  await addDocs(app)
  if (options.console) await addConsole(app, options.console)
  return app
}
