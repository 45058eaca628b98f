// The Worker that moves places from and to the other Worker's objects. It is deployed for a move, at its own address,
// and deleted afterwards, so messaging clients never reach the export.
import { env, waitUntil } from "cloudflare:workers"
import { createConnectGuard } from "@signet/guard/connect"
import { Refused } from "@signet/kernel/errors"
import { TransferService } from "@signet/proto/transfer/v1/transfer_service"
import { transferRoutes } from "../../../rpc/transfer/routes.ts"
import { deadline } from "../../../serving/interceptors/deadline.ts"
import { errors } from "../../../serving/interceptors/errors.ts"
import { validate } from "../../../serving/interceptors/validate.ts"
import { durableMoving } from "../../../store/durable/moving/moving.ts"
import { auditDenials } from "../denials.ts"
import { createFront, type Front } from "../front/front.ts"
import { createMessagingGuard } from "../guard.ts"
import { report } from "../report.ts"
import { runtime } from "../runtime.ts"
import { SettingsError } from "../settings.ts"

/** Longer than the 20 seconds in which a step may notify objects. */
const callLimitMs = 60_000

let front: Front | undefined

export default {
  async fetch(request: Request): Promise<Response> {
    try {
      front ??= openFront()
      return await front(request)
    } catch (fault) {
      report(fault)
      if (fault instanceof SettingsError) return unavailable()
      throw fault
    }
  },
}

function openFront(): Front {
  const { settings, client, deps } = runtime()
  const { clock } = deps
  const { guard } = createMessagingGuard({
    settings,
    keys: env.KEYS,
    feeds: env.FEEDS,
    client,
    clock,
    region: undefined,
    report,
  })
  const connectGuard = createConnectGuard({
    services: [TransferService],
    guard,
    onDeny: auditDenials(deps, waitUntil, report),
  })
  return createFront({
    routes: transferRoutes({ ...deps, moving: durableMoving(env, clock) }),
    interceptors: [
      errors(report),
      deadline(callLimitMs),
      connectGuard.interceptor,
      validate(TransferService.methods.map(({ input }) => input)),
    ],
    requestGate: connectGuard.gate,
    onFault: report,
    isAllowedOrigin: async () => false,
    isReady: async () => true,
  })
}

const unavailable = (): Response =>
  Response.json(
    { code: "unavailable" },
    { status: new Refused("UNAVAILABLE").status, headers: { "retry-after": "30" } },
  )
