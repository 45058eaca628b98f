import type { PlaceFacts } from "../administration/ports.ts"
import type { AppId, ContextId, PrincipalId, SessionId, TenantId } from "../ids.ts"
import type { Revocation } from "../machine/records.ts"
import type { Identity, Membership, Principal, Session } from "../records.ts"
import type { AuthorityVersions } from "./versions.ts"

/** The facts for a liveness decision, in one lookup. Undefined for records that do not exist. */
export interface Liveness {
  find(question: LivenessQuestion): Promise<LivenessFacts>
}

export interface LivenessQuestion {
  principalId: PrincipalId
  /** The service that acts for the principal, if any. */
  actorId: PrincipalId | null
  /** The token's session, or the delegating user's. */
  sessionId: SessionId | null
  /** The credential that the token was obtained with: its `cred_id`. */
  credentialId: string | null
  /** The token's `jti`. */
  tokenId: string | null
  issuedAtMs: number
  appId: AppId
  tenantId: TenantId | null
  contextId: ContextId | null
  nowMs: number
}

export interface LivenessFacts extends PlaceFacts {
  /** SUSPENDED also for a disabled service account. */
  principal: Principal["status"] | undefined
  /** Same for the acting service. */
  actor: Principal["status"] | undefined
  identity: Identity["status"] | undefined
  session: { status: Session["status"]; idleExpiresAtMs: number; absoluteExpiresAtMs: number } | undefined
  /** Membership of the app. If that is ACTIVE and the question names a tenant or context, the membership there. */
  membership: Membership["status"] | undefined
  /** Those of the question's principal, session, credential and token that have a stored revocation. */
  revoked: readonly Revocation["kind"][]
  /** The lowest versions that a valid token of the principal in the app may have. */
  minimum: AuthorityVersions
  /** The current versions; null if unknown. */
  current: AuthorityVersions | null
}
