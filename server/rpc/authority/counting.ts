// Limits of a backend's calls. A faulty backend, or a stolen account, uses up only its own limit, and per user only
// that user's limit at this backend.
import type { HandlerContext } from "@connectrpc/connect"
import type { PrincipalId } from "@signet/kernel/ids"
import { callerOf } from "../../serving/call/call.ts"
import { type CountingDeps, limit } from "../limit.ts"

/**
 * Counts a call of the backend, before any look-up. @throws Refused RATE_LIMITED; UNAVAILABLE when the limits cannot be
 * counted.
 */
export const countBackend = (deps: CountingDeps, context: HandlerContext): Promise<void> =>
  limit(deps, context, "messaging_backend", { caller: callerOf(context).principal.id })

/** Counts a call on behalf of a user, after a token or signed list has proved the user. @throws as `countBackend` */
export const countUser = (deps: CountingDeps, context: HandlerContext, userId: PrincipalId): Promise<void> =>
  limit(deps, context, "messaging_backend", { user: `${callerOf(context).principal.id} ${userId}` })
