import type { PlaceFacts } from "../administration/ports.ts"
import type { Reason } from "../errors.ts"
import { principalInactivity } from "../identity/principal.ts"
import type { AuthContext } from "./context.ts"
import type { LivenessFacts } from "./liveness-ports.ts"
import { isOutdated } from "./versions.ts"

/** Current status of principal, session, credential and membership. */
export interface Liveness {
  readonly facts: LivenessFacts
  /** Time at which the facts were read, in milliseconds since the Unix epoch. */
  readonly asOfMs: number
}

/**
 * Step 3: returns why principal, actor, identity, session, credential or token is inactive; undefined if all are
 * active. A missing record is inactive. PERMISSIONS_STALE: authority was reduced after the token was issued.
 */
export function inactivity(context: AuthContext, facts: LivenessFacts, nowMs: number): Reason | undefined {
  const { revoked } = facts
  const inactive = principalInactivity(facts.principal)
  if (inactive !== undefined) return inactive
  if (revoked.includes("PRINCIPAL")) return "PRINCIPAL_INACTIVE"
  if (context.actor !== null && facts.actor !== "ACTIVE") return "PRINCIPAL_INACTIVE"
  if (context.identityId !== null && facts.identity !== "ACTIVE") return "IDENTITY_INACTIVE"
  if (sessionOf(context) !== null) {
    if (facts.session?.status !== "ACTIVE" || revoked.includes("SESSION")) return "SESSION_REVOKED"
    if (facts.session.idleExpiresAtMs <= nowMs || facts.session.absoluteExpiresAtMs <= nowMs) return "SESSION_EXPIRED"
  }
  if (revoked.includes("CREDENTIAL")) return "CREDENTIAL_REVOKED"
  if (revoked.includes("TOKEN")) return "TOKEN_REVOKED"
  return isOutdated(context.versions, facts.minimum) ? "PERMISSIONS_STALE" : undefined
}

/** True if app, tenant and context are ACTIVE, as far as the query names them. A missing one is not. */
export function isOpen({ app, tenant, context }: PlaceFacts): boolean {
  return app === "ACTIVE" && (tenant === null || tenant === "ACTIVE") && (context === null || context === "ACTIVE")
}

/**
 * Step 4: returns why the principal is not an active member at the place; undefined if it is. Services need no
 * membership.
 */
export function displacement(context: AuthContext, facts: LivenessFacts): Reason | undefined {
  if (!isOpen(facts)) return "TENANT_SUSPENDED"
  if (context.principal.kind === "SERVICE" && facts.membership === undefined) return undefined
  return facts.membership === "ACTIVE" ? undefined : "MEMBERSHIP_INACTIVE"
}

/** The session that the token depends on. For a delegated token it is the delegating user's. */
export function sessionOf(context: AuthContext): AuthContext["sessionId"] {
  return context.sessionId ?? context.delegation?.originSessionId ?? null
}
