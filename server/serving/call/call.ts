import { createContextKey, type HandlerContext } from "@connectrpc/connect"
import { kAuth } from "@signet/guard/connect"
import type { AuthContext } from "@signet/kernel/authz/context"
import { Refused } from "@signet/kernel/errors"
import type { IdentityId, SessionId } from "@signet/kernel/ids"

/** The facts of a call that the transport knows, besides its message. */
export interface Call {
  readonly requestId: string
  /** The client's address without its last part (/24 or /48); null when it is unknown. */
  readonly ipTruncated: string | null
  /**
   * The whole address (IPv4) or /64 (IPv6) for rate limits; never logged or stored in clear. Null when it is unknown.
   */
  readonly network: string | null
}

export const kCall = createContextKey<Call>(
  { requestId: "", ipTruncated: null, network: null },
  { description: "call" },
)

/** The caller, of any kind. The guard admits no call without a context. @throws Refused INTERNAL without one */
export function callerOf(context: HandlerContext): AuthContext {
  const auth = context.values.get(kAuth)
  if (auth == null)
    throw new Refused("INTERNAL", { cause: new Error(`${context.method.name} was called without an AuthContext`) })
  return auth
}

/** A signed-in user, as the requirement `kinds: USER` ensures. */
export interface UserContext extends AuthContext {
  readonly identityId: IdentityId
}

/** The caller as a user. The guard admits only users here. @throws Refused INTERNAL otherwise */
export function userOf(context: HandlerContext): UserContext {
  const auth = context.values.get(kAuth)
  if (auth?.identityId == null || auth.principal.kind !== "USER") {
    throw new Refused("INTERNAL", { cause: new Error(`${context.method.name} was reached without a user`) })
  }
  return { ...auth, identityId: auth.identityId }
}

/**
 * The caller's session. Personal access tokens and delegated calls have none. @throws Refused
 * PRINCIPAL_KIND_NOT_ALLOWED
 */
export function sessionIdOf(context: HandlerContext): SessionId {
  const { sessionId } = userOf(context)
  if (sessionId === null)
    throw new Refused("PRINCIPAL_KIND_NOT_ALLOWED", { message: "this call requires the token of a user session" })
  return sessionId
}

/**
 * The caller as a user in a session of their own. Calls that list or end sessions, create credentials or delegate
 * require it: the scopes of a personal access token never permit them.
 *
 * @throws Refused PRINCIPAL_KIND_NOT_ALLOWED
 */
export function sessionUserOf(context: HandlerContext): UserContext {
  sessionIdOf(context)
  return userOf(context)
}

/**
 * The caller as a user in a session outside of every context, for records that belong to an app or a tenant.
 *
 * @throws Refused PRINCIPAL_KIND_NOT_ALLOWED, CONTEXT_MISMATCH
 */
export function sessionUserOutsideContexts(context: HandlerContext): UserContext {
  const user = sessionUserOf(context)
  if (user.contextId !== null) throw new Refused("CONTEXT_MISMATCH")
  return user
}
