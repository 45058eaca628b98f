// Decides whether and how far a service may act for a user: the checks of RFC 8693 on-behalf-of, in a fixed order.
// Pure.
import type { AuthContext } from "../authz/context.ts"
import type { Reason } from "../errors.ts"
import type { TenantId } from "../ids.ts"
import type { DelegationPolicy, ServiceAccount, StandingDelegation } from "../machine/records.ts"
import type { OAuthError } from "./oauth-error.ts"

/** Maximum lifetime of a delegated token in seconds, whatever a policy allows. */
export const maxDelegatedSeconds = 300

/** The user's own token, or a standing delegation that the user granted before. */
export type ExchangeSubject =
  | {
      readonly is: "token"
      /** The caller of the verified token, or why the token was rejected. Its audience is not checked yet. */
      readonly context: AuthContext | Reason
    }
  | { readonly is: "delegation"; readonly delegation: StandingDelegation | undefined }

export interface ExchangeRequest {
  readonly actor: Pick<
    ServiceAccount,
    "principalId" | "appId" | "tenantId" | "ownedAudiences" | "allowedAudiences" | "scopes"
  >
  /** The actor's policies in its app. */
  readonly policies: readonly DelegationPolicy[]
  readonly subject: ExchangeSubject
  /** Why principal, identity, session, membership or token is inactive; undefined if all are active. */
  readonly inactive: Reason | undefined
  /** Scopes that the subject holds now, over all audiences. */
  readonly subjectScopes: readonly string[]
  readonly audience: string
  /** The app's scopes for that audience. */
  readonly audienceScopes: readonly string[]
  /** The requested scopes: at least one. */
  readonly scopes: readonly string[]
  /** The auth service's own audience, which delegated tokens never get. */
  readonly authAudience: string
  readonly nowMs: number
}

interface Exchange {
  readonly refuse: false
  readonly policy: DelegationPolicy
  /** Exactly the requested scopes. */
  readonly scopes: readonly string[]
  /** 1 to 300. */
  readonly lifetimeSeconds: number
}

interface NoExchange {
  readonly refuse: true
  readonly reason: Reason
  readonly error: OAuthError
}

/**
 * Decides one exchange. It grants everything requested or nothing: a service must not run with only a part of the scopes
 * that it needs.
 *
 * The caller has checked that the actor is authenticated and active. The order of the checks: a policy exists; the
 * subject token is valid and issued for an audience that the actor owns (a service cannot exchange a token for another
 * service); its subject is an active user with a session; app and tenant are the actor's; the scopes are within those
 * of subject, policy and actor; the audience is allowed and not the auth service's; the app has the scopes for that
 * audience; the subject token has no actor; the lifetime is at least a second.
 */
export function decideExchange(request: ExchangeRequest): Exchange | NoExchange {
  const { actor, subject, nowMs } = request
  const activePolicies = request.policies.filter(
    (policy) => policy.revokedAtMs === null && policy.actorPrincipalId === actor.principalId,
  )
  if (activePolicies.length === 0) return refuse("DELEGATION_NOT_ALLOWED", "access_denied")

  const standing = subject.is === "delegation" ? subject.delegation : undefined
  if (subject.is === "delegation" && !isUsable(standing, request, activePolicies)) {
    return refuse("DELEGATION_EXPIRED")
  }
  const token = subject.is === "token" ? subject.context : undefined
  if (typeof token === "string") return refuse(token)
  if (token !== undefined && !actor.ownedAudiences.includes(token.audience)) return refuse("AUDIENCE_MISMATCH")
  if (token !== undefined) {
    if (token.principal.kind !== "USER") return refuse("PRINCIPAL_KIND_NOT_ALLOWED")
    // A personal access token has no session that could end, so its access tokens cannot be exchanged.
    if ((token.sessionId ?? token.delegation?.originSessionId ?? null) === null) return refuse("SUBJECT_TOKEN_INVALID")
  }
  if (request.inactive !== undefined) return refuse(request.inactive)

  // The app and tenant in which the subject acts.
  const scope = token ?? standing
  if (scope === undefined || scope.appId !== actor.appId) return refuse("APP_MISMATCH")
  if (actor.tenantId !== null && actor.tenantId !== scope.tenantId) return refuse("TENANT_MISMATCH")
  const applicable = activePolicies.filter((policy) => policy.appId === scope.appId && covers(policy, scope.tenantId))
  if (applicable.length === 0) return refuse("DELEGATION_NOT_ALLOWED", "access_denied")

  const scopeCeilings = [request.subjectScopes, actor.scopes, ...(standing === undefined ? [] : [standing.scopes])]
  // If the subject token is already for the requested audience, its scopes are a limit, too.
  if (token !== undefined && token.audience === request.audience) scopeCeilings.push([...token.scopes])
  const isHeld = request.scopes.length > 0 && scopeCeilings.every((ceiling) => isWithin(request.scopes, ceiling))
  const covering = applicable.filter((policy) => isHeld && isWithin(request.scopes, policy.scopes))
  if (covering.length === 0) return refuse("SCOPE_NOT_GRANTED", "invalid_scope")

  const audienceCeilings = [actor.allowedAudiences, ...(standing === undefined ? [] : [standing.audiences])]
  const isAllowed =
    request.audience !== request.authAudience && audienceCeilings.every((ceiling) => ceiling.includes(request.audience))
  const policy = covering.find(({ id, audiences }) => audiences.includes(request.audience) && isOf(standing, id))
  if (!isAllowed || policy === undefined) return refuse("AUDIENCE_NOT_ALLOWED", "invalid_target")
  if (!isWithin(request.scopes, request.audienceScopes)) return refuse("SCOPE_NOT_GRANTED", "invalid_scope")

  if (token !== undefined && token.actor !== null) return refuse("DELEGATION_CHAIN_TOO_DEEP", "access_denied")
  const remaining = Math.floor(((token?.expiresAtMs ?? standing?.expiresAtMs ?? 0) - nowMs) / 1_000)
  const lifetimeSeconds = Math.min(maxDelegatedSeconds, policy.maxSeconds, remaining)
  if (lifetimeSeconds < 1) return refuse(token === undefined ? "DELEGATION_EXPIRED" : "TOKEN_EXPIRED")
  return { refuse: false, policy, scopes: request.scopes, lifetimeSeconds }
}

/** Refuses another actor's delegation like an unknown one. */
function isUsable(
  delegation: StandingDelegation | undefined,
  { actor, nowMs }: ExchangeRequest,
  activePolicies: readonly DelegationPolicy[],
): boolean {
  if (delegation === undefined || delegation.actorPrincipalId !== actor.principalId) return false
  if (delegation.revokedAtMs !== null || delegation.expiresAtMs <= nowMs) return false
  return activePolicies.some((policy) => policy.id === delegation.policyId && policy.allowStanding)
}

const covers = (policy: DelegationPolicy, tenantId: TenantId | null): boolean =>
  policy.tenantId === null || policy.tenantId === tenantId

const isOf = (delegation: StandingDelegation | undefined, policyId: string): boolean =>
  delegation === undefined || delegation.policyId === policyId

const isWithin = (scopes: readonly string[], ceiling: readonly string[]): boolean =>
  scopes.every((scope) => ceiling.includes(scope))

const refuse = (reason: Reason, error: OAuthError = "invalid_grant"): NoExchange => ({ refuse: true, reason, error })
