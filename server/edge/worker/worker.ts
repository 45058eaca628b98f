// The Worker: the Node server's messaging services, with Durable Objects in place of a database.
import { env, waitUntil } from "cloudflare:workers"
import { parseBearer } from "@signet/guard/bearer"
import { createConnectGuard } from "@signet/guard/connect"
import { Refused } from "@signet/kernel/errors"
import { healthState } from "../../rpc/health/health.ts"
import { messagingRoutes, messagingServices } from "../../rpc/messaging/routes.ts"
import { type CallLine, callLines } from "../../serving/call-log.ts"
import { deadline } from "../../serving/interceptors/deadline.ts"
import { deviceProof } from "../../serving/interceptors/device-proof.ts"
import { errors } from "../../serving/interceptors/errors.ts"
import { validate } from "../../serving/interceptors/validate.ts"
import { withCallerToken } from "./caller-token.ts"
import { auditDenials } from "./denials.ts"
import { createFront, type Front } from "./front/front.ts"
import { createMessagingGuard } from "./guard.ts"
import { report } from "./report.ts"
import { type Runtime, runtime } from "./runtime.ts"
import { SettingsError } from "./settings.ts"

export * from "./objects.ts"

/** The longest duration of a unary call, in milliseconds. */
const callLimitMs = 30_000

let front: Front | undefined

export default {
  async fetch(request: Request): Promise<Response> {
    try {
      const opened = runtime()
      front ??= openFront(opened, regionOf(request))
      await opened.issuerKeys.look()
      return await withCallerToken(tokenOf(request), () => (front ?? unavailable)(request))
    } catch (fault) {
      report(fault)
      if (fault instanceof SettingsError) return unavailable()
      throw fault
    }
  },
}

function openFront({ settings, client, issuerKeys, deps, streams }: Runtime, region: string | undefined): Front {
  const { clock, verify, store } = deps
  const { guard } = createMessagingGuard({
    settings,
    keys: env.KEYS,
    feeds: env.FEEDS,
    client,
    clock,
    region,
    report,
  })
  const connectGuard = createConnectGuard({
    services: messagingServices,
    guard,
    onDeny: auditDenials(deps, waitUntil, report),
  })
  const faults = errors(report)
  const health = healthState(messagingServices.map(({ typeName }) => typeName))
  return createFront({
    routes: messagingRoutes(deps, streams),
    interceptors: [
      callLines(() => logCall),
      faults,
      deadline(callLimitMs),
      connectGuard.interceptor,
      validate(messagingServices.flatMap(({ methods }) => methods.map(({ input }) => input))),
      deviceProof({
        devices: store.devices,
        proofNonces: store.proofNonces,
        clock,
        verify,
        requirements: connectGuard.requirements,
      }),
    ],
    requestGate: connectGuard.gate,
    open: { routes: health.routes, interceptors: [faults] },
    onFault: report,
    isAllowedOrigin: async (origin) => settings.allowedOrigins.has(origin),
    isReady: async () => {
      issuerKeys.signer("RECEIPT")
      return true
    },
  })
}

/** Logs one line per call, as the Node server does. */
function logCall(line: CallLine): void {
  const text = JSON.stringify({ ...line, msg: "call" })
  if (line.outcome === "INTERNAL") console.error(text)
  else console.log(text)
}

/** The caller's token, for the auth service that signs on the caller's behalf. Only the guard verifies it. */
function tokenOf({ headers }: Request): string {
  const bearer = parseBearer(headers.get("authorization"))
  return typeof bearer === "string" ? "" : bearer.token
}

function regionOf({ cf }: Request): string | undefined {
  return typeof cf?.continent === "string" ? cf.continent.toLowerCase() : undefined
}

const unavailable = (): Response =>
  Response.json(
    { code: "unavailable" },
    { status: new Refused("UNAVAILABLE").status, headers: { "retry-after": "30" } },
  )
