import type { PlaceFacts } from "../administration/ports.ts"
import type { Reason } from "../errors.ts"
import { principalInactivity } from "../identity/principal.ts"
import type { LivenessFacts } from "../ports.ts"
import type { AuthContext } from "./context.ts"
import { isOutdated } from "./versions.ts"

/** What is known of principal, session, credential and membership, and since when. */
export interface Liveness {
  readonly facts: LivenessFacts
  /** When the facts were true. Milliseconds since the Unix epoch. */
  readonly asOfMs: number
}

/**
 * Step 3: why principal, identity, session, credential or token is not active; undefined when they are. What is missing
 * is not active. A service that acts for a user must be active too. PERMISSIONS_STALE: authority was taken away since the
 * token was issued.
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

/** Whether anybody may act at the place: app, tenant and context are ACTIVE, as far as they are asked for. What is missing is not. */
export function isOpen({ app, tenant, context }: PlaceFacts): boolean {
  return app === "ACTIVE" && (tenant === null || tenant === "ACTIVE") && (context === null || context === "ACTIVE")
}

/** Step 4: why the principal has no place in the app now; undefined when it has. Services need no membership. */
export function displacement(context: AuthContext, facts: LivenessFacts): Reason | undefined {
  if (!isOpen(facts)) return "TENANT_SUSPENDED"
  if (context.principal.kind === "SERVICE" && facts.membership === undefined) return undefined
  return facts.membership === "ACTIVE" ? undefined : "MEMBERSHIP_INACTIVE"
}

/** The session whose end ends the token: for a delegated one, that of the user who delegated. */
export function sessionOf(context: AuthContext): AuthContext["sessionId"] {
  return context.sessionId ?? context.delegation?.originSessionId ?? null
}
