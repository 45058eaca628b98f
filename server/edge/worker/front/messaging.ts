// The messaging services on the front, behind the chain of interceptors that Node's server has them behind.
import type { Interceptor } from "@connectrpc/connect"
import { type ConnectGuardOptions, createConnectGuard } from "@signet/guard/connect"
import { type CallLine, callLines } from "../../../rpc/call-log.ts"
import { healthState } from "../../../rpc/health.ts"
import { deadline } from "../../../rpc/interceptors/deadline.ts"
import { deviceProof } from "../../../rpc/interceptors/device-proof.ts"
import { errors } from "../../../rpc/interceptors/errors.ts"
import { validate } from "../../../rpc/interceptors/validate.ts"
import type { MessagingDeps } from "../../../rpc/messaging/deps.ts"
import { messagingRoutes, messagingServices } from "../../../rpc/messaging/routes.ts"
import { createFront, type Front, type FrontOptions } from "./front.ts"

export interface MessagingFrontOptions
  extends Pick<FrontOptions, "isAllowedOrigin" | "isReady" | "addressOf" | "onFault">,
    Pick<ConnectGuardOptions, "guard" | "onDeny"> {
  readonly deps: MessagingDeps
  /** Hears of each call when it is over. */
  readonly onCall: (line: CallLine) => void
  /** Around the whole chain, the first outermost. */
  readonly around?: readonly Interceptor[]
  /** The longest that a unary call may take, in milliseconds. */
  readonly callLimitMs?: number
}

/** @throws Error when a method has no requirement that can be checked, or a message a rule that is not known. */
export function createMessagingFront(options: MessagingFrontOptions): Front {
  const { deps, onFault, onCall } = options
  const guard = createConnectGuard({ ...options, services: messagingServices })
  const interceptors = [
    ...(options.around ?? []),
    callLines(() => onCall),
    errors(onFault),
    deadline(options.callLimitMs ?? 30_000),
    guard.interceptor,
    validate(messagingServices.flatMap((service) => service.methods.map((method) => method.input))),
    deviceProof({
      devices: deps.store.devices,
      proofNonces: deps.store.proofNonces,
      clock: deps.clock,
      verify: deps.verify,
      requirements: guard.requirements,
    }),
  ]
  const health = healthState(messagingServices.map((service) => service.typeName))
  return createFront({
    ...options,
    routes: messagingRoutes(deps),
    interceptors,
    requestGate: guard.gate,
    open: { routes: health.routes, interceptors: [errors(onFault)] },
  })
}
