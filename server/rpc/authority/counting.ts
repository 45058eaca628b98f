// How much a backend may ask for. A broken one, or whoever has its account, takes from its own share, and of what it asks
// in somebody's name from theirs at this backend.
import type { HandlerContext } from "@connectrpc/connect"
import type { PrincipalId } from "@signet/kernel/ids"
import { callerOf } from "../../serving/call/call.ts"
import { type CountingDeps, limit } from "../limit.ts"

/** A call of the backend, before anything is looked up. @throws Refused RATE_LIMITED. UNAVAILABLE when nobody can count. */
export const countBackend = (deps: CountingDeps, context: HandlerContext): Promise<void> =>
  limit(deps, context, "messaging_backend", { caller: callerOf(context).principal.id })

/** What it asks in a user's name, once their token or their list has said that it is theirs. @throws the same */
export const countUser = (deps: CountingDeps, context: HandlerContext, userId: PrincipalId): Promise<void> =>
  limit(deps, context, "messaging_backend", { user: `${callerOf(context).principal.id} ${userId}` })
