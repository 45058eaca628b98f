// Verifies the access token of the user on whose behalf a backend calls, as if the user had called here.
import type { HandlerContext } from "@connectrpc/connect"
import { reachMismatch } from "@signet/kernel/authz/admin-reach"
import type { AuthContext } from "@signet/kernel/authz/context"
import type { Requirement } from "@signet/kernel/authz/requirement"
import { type Reason, Refused } from "@signet/kernel/errors"
import type { DeviceId, PrincipalId, SessionId } from "@signet/kernel/ids"
import type { Place } from "@signet/kernel/messaging/records"
import { isAt } from "../messaging/conversation/seen.ts"
import { notTheCallers } from "./backend.ts"
import { countUser } from "./counting.ts"
import type { AuthorityDeps } from "./deps.ts"

/** A signed-in user who writes messages. Tokens with an actor and tokens of services are refused. */
export interface Caller {
  readonly userId: PrincipalId
  readonly sessionId: SessionId
  readonly deviceId: DeviceId | null
  readonly permVer: number
}

type Scope = "messaging.write" | "messaging.devices.write"

const requires = (scope: Scope): Requirement => ({
  is: "allOf",
  of: [
    { is: "kinds", of: ["USER"] },
    { is: "scope", scope },
  ],
})

/**
 * The user behind the call, at this place. The call counts against the user's limits.
 *
 * @throws Refused CALLER_REFUSED with `caller_reason`, NOT_THE_CALLERS for another place, RATE_LIMITED, UNAVAILABLE
 * when the token's state cannot be read.
 */
export async function callerBehind(
  deps: AuthorityDeps,
  handler: HandlerContext,
  token: string,
  place: Place,
): Promise<Caller> {
  const caller = callerIn(await contextOf(deps, token, "messaging.write"), place)
  await countUser(deps, handler, caller.userId)
  return caller
}

/**
 * As `callerBehind`, for an administrator who revokes devices of other users at the place.
 *
 * @throws as `callerBehind`
 */
export async function requireAdministrator(
  deps: AuthorityDeps,
  handler: HandlerContext,
  token: string,
  place: Place,
): Promise<void> {
  const context = await contextOf(deps, token, "messaging.devices.write")
  if (context.sessionId === null) throw refusedCaller("PRINCIPAL_KIND_NOT_ALLOWED")
  if (reachMismatch(context, false, { ...place, contextId: null }) !== undefined) throw notTheCallers("place")
  await countUser(deps, handler, context.principal.id)
}

async function contextOf({ callers }: AuthorityDeps, token: string, scope: Scope): Promise<AuthContext> {
  const who = await callers.authenticate(`Bearer ${token}`)
  const decision = await callers.authorize(who, requires(scope), {})
  if (!decision.allow) throw refusedCaller(decision.reason)
  if (decision.context === undefined) throw refusedCaller("NO_CREDENTIAL")
  return decision.context
}

function callerIn(context: AuthContext, place: Place): Caller {
  const { sessionId, principal, deviceId, permVer } = context
  if (sessionId === null) throw refusedCaller("PRINCIPAL_KIND_NOT_ALLOWED")
  if (!isAt(place, context)) throw notTheCallers("place")
  return { userId: principal.id, sessionId, deviceId, permVer }
}

/**
 * The device that the token names, if the session is still bound to it. The token may be minutes older than the
 * session's last change.
 *
 * @throws Refused CALLER_REFUSED (DEVICE_REQUIRED)
 */
export async function deviceBehind(
  { store }: Pick<AuthorityDeps, "store">,
  { sessionId, deviceId }: Caller,
): Promise<DeviceId> {
  const session = await store.transaction((tx) => tx.sessions.find(sessionId))
  if (deviceId === null || session?.boundDeviceId !== deviceId) throw refusedCaller("DEVICE_REQUIRED")
  return deviceId
}

function refusedCaller(reason: Reason): Refused {
  if (reason === "UNAVAILABLE" || reason === "INTERNAL") return new Refused(reason)
  return new Refused("CALLER_REFUSED", { metadata: { caller_reason: reason } })
}
