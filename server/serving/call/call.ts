import { createContextKey, type HandlerContext } from "@connectrpc/connect"
import { kAuth } from "@signet/guard/connect"
import type { AuthContext } from "@signet/kernel/authz/context"
import { Refused } from "@signet/kernel/errors"
import type { IdentityId, SessionId } from "@signet/kernel/ids"

/** What the transport knows of a call, besides its message. */
export interface Call {
  readonly requestId: string
  /** The client's address without its last part (/24 or /48); null when it is not known. */
  readonly ipTruncated: string | null
  /** Its whole address (IPv4) or /64 (IPv6), to count calls by; never logged or kept in clear. Null when not known. */
  readonly network: string | null
}

export const kCall = createContextKey<Call>(
  { requestId: "", ipTruncated: null, network: null },
  { description: "call" },
)

/** The caller, whoever it is. The guard has let nobody through without a context; anything else is a fault of the service. */
export function callerOf(context: HandlerContext): AuthContext {
  const auth = context.values.get(kAuth)
  if (auth == null)
    throw new Refused("INTERNAL", { cause: new Error(`${context.method.name} was called without an AuthContext`) })
  return auth
}

/** A signed-in user: what the requirement `kinds: USER` promises of the context. */
export interface UserContext extends AuthContext {
  readonly identityId: IdentityId
}

/** The caller as a user. The guard has let only users through; anything else is a fault of the service. */
export function userOf(context: HandlerContext): UserContext {
  const auth = context.values.get(kAuth)
  if (auth?.identityId == null || auth.principal.kind !== "USER") {
    throw new Refused("INTERNAL", { cause: new Error(`${context.method.name} was reached without a user`) })
  }
  return { ...auth, identityId: auth.identityId }
}

/** The caller's session: present for signed-in users, absent for personal access tokens and delegated calls. */
export function sessionIdOf(context: HandlerContext): SessionId {
  const { sessionId } = userOf(context)
  if (sessionId === null)
    throw new Refused("PRINCIPAL_KIND_NOT_ALLOWED", { message: "this call requires the token of a user session" })
  return sessionId
}

/**
 * The caller as a user in a session of their own. Whoever looks at sessions or ends them, makes credentials or gives leave
 * to others, has signed in: a token that came of a personal access token may do what its scopes say, and no scope says this.
 */
export function sessionUserOf(context: HandlerContext): UserContext {
  sessionIdOf(context)
  return userOf(context)
}
