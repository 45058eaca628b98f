import type { Reason } from "../errors.ts"
import type { LivenessFacts } from "../ports.ts"
import type { AuthContext } from "./context.ts"

/** What is known of principal, session and membership, and since when. */
export interface Liveness {
  readonly facts: LivenessFacts
  /** When the facts were true. Milliseconds since the Unix epoch. */
  readonly asOfMs: number
}

/** Step 3: why principal, identity or session is not active; undefined when they are. What is missing is not active. */
export function inactivity(context: AuthContext, facts: LivenessFacts, nowMs: number): Reason | undefined {
  if (facts.principal !== "ACTIVE") return "PRINCIPAL_INACTIVE"
  if (context.identityId !== null && facts.identity !== "ACTIVE") return "IDENTITY_INACTIVE"
  if (sessionOf(context) === null) return undefined
  if (facts.session?.status !== "ACTIVE") return "SESSION_REVOKED"
  if (facts.session.idleExpiresAtMs <= nowMs || facts.session.absoluteExpiresAtMs <= nowMs) return "SESSION_EXPIRED"
  return undefined
}

/** Step 4: why the principal has no place in the app now; undefined when it has. Services need no membership. */
export function displacement(context: AuthContext, facts: LivenessFacts): Reason | undefined {
  if (facts.app !== "ACTIVE") return "TENANT_SUSPENDED"
  if (context.principal.kind === "SERVICE" && facts.membership === undefined) return undefined
  return facts.membership === "ACTIVE" ? undefined : "MEMBERSHIP_INACTIVE"
}

/** The session whose end ends the token: for a delegated one, that of the user who delegated. */
export function sessionOf(context: AuthContext): AuthContext["sessionId"] {
  return context.sessionId ?? context.delegation?.originSessionId ?? null
}
