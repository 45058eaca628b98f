// Rules for creating personal access tokens and for exchanging them.
import { intersect, scopesHeld } from "../authz/scopes.ts"
import type { Reason } from "../errors.ts"
import { principalInactivity } from "../identity/principal.ts"
import type { ContextId } from "../ids.ts"
import type { Pat } from "../machine/records.ts"
import type { App, Identity, Membership, Principal } from "../records.ts"

const dayMs = 86_400_000

/** Lifetime of a personal access token, which always expires. */
const patLifeDays = { default: 90, max: 365 } as const

type PatState = "ACTIVE" | "EXPIRED" | "REVOKED" | "LEAKED"

/** Returns the current state. If a token was revoked and expired, the earlier event counts. */
export function patState(pat: Pick<Pat, "revokedAtMs" | "revokeReason" | "expiresAtMs">, nowMs: number): PatState {
  if (pat.revokedAtMs !== null && pat.revokedAtMs < pat.expiresAtMs) {
    return pat.revokeReason === "LEAKED" ? "LEAKED" : "REVOKED"
  }
  return nowMs < pat.expiresAtMs ? "ACTIVE" : "EXPIRED"
}

interface PatRequest {
  audiences: readonly string[]
  scopes: readonly string[]
  /** 0 means the default lifetime. */
  lifeDays: number
}

/** The app, and the caller's membership at the place of the new token. */
interface PatGrounds {
  app: Pick<App, "audiences" | "scopes">
  membership: Pick<Membership, "status" | "scopes"> | undefined
  authAudience: string
  nowMs: number
}

/**
 * Returns the bindings of a new personal access token: everything requested, or why it is refused. Never exceeds its
 * creator's scopes.
 *
 * @throws RangeError if the lifetime exceeds the maximum.
 */
export function planPat(
  asked: PatRequest,
  { app, membership, authAudience, nowMs }: PatGrounds,
): Pick<Pat, "allowedAudiences" | "scopes" | "expiresAtMs"> | Reason {
  const { audiences, scopes, lifeDays } = asked
  if (!Number.isInteger(lifeDays) || lifeDays < 0 || lifeDays > patLifeDays.max) {
    throw new RangeError("the lifetime of a personal access token must be 1 to 365 days")
  }
  if (!audiences.every((audience) => audience === authAudience || app.audiences.includes(audience))) {
    return "AUDIENCE_NOT_REGISTERED"
  }
  const held = audiences.flatMap((audience) => scopesHeld(app, membership, audience))
  if (scopes.length === 0 || !scopes.every((scope) => held.includes(scope))) return "SCOPE_NOT_GRANTED"
  return { allowedAudiences: audiences, scopes, expiresAtMs: nowMs + (lifeDays || patLifeDays.default) * dayMs }
}

/** The stored facts about a presented personal access token. */
export interface PatFacts {
  pat: Pat | undefined
  principal: Pick<Principal, "status"> | undefined
  identity: Pick<Identity, "status"> | undefined
  app: Pick<App, "status" | "audiences" | "scopes"> | undefined
  /** Membership of the whole app. */
  membership: Pick<Membership, "status" | "scopes"> | undefined
  /** Membership of the access token's tenant and context; the app's own if it has neither. */
  placeMembership: Pick<Membership, "status" | "scopes"> | undefined
}

export interface PatExchangeRequest {
  /** Empty: the only audience that the token allows. */
  audience: string
  /** Empty: all that the token allows. */
  scopes: readonly string[]
  /** Null: the token's own. */
  contextId: ContextId | null
}

/** The access token to issue, or the reason why none is. */
export type PatExchange =
  | { is: "grant"; pat: Pat; audience: string; scopes: readonly string[]; contextId: ContextId | null }
  | { is: "refuse"; reason: Reason; field?: string }

/** Returns the context of the access token; undefined if the token is bound to another context. */
export function contextAsked(pat: Pat, asked: ContextId | null): ContextId | null | undefined {
  if (asked === null || asked === pat.contextId) return pat.contextId
  return pat.contextId === null ? asked : undefined
}

/**
 * Decides the exchange of a personal access token: one audience, and those requested scopes that the token has and its
 * owner holds there now. The result may have fewer scopes than requested, never none.
 *
 * @param authAudience The auth service's own audience, which needs no registration.
 */
export function decidePatExchange(
  facts: PatFacts,
  asked: PatExchangeRequest,
  { authAudience, nowMs }: { authAudience: string; nowMs: number },
): PatExchange {
  const { pat, app } = facts
  if (pat === undefined || patState(pat, nowMs) !== "ACTIVE") return refuse("PAT_INVALID")
  const inactive = principalInactivity(facts.principal?.status)
  if (inactive !== undefined) return refuse(inactive)
  if (facts.identity?.status !== "ACTIVE") return refuse("IDENTITY_INACTIVE")
  if (app?.status !== "ACTIVE") return refuse("TENANT_SUSPENDED")
  const contextId = contextAsked(pat, asked.contextId)
  if (contextId === undefined) return refuse("CONTEXT_MISMATCH", "context_id")
  if (facts.membership?.status !== "ACTIVE" || facts.placeMembership?.status !== "ACTIVE") {
    return refuse("MEMBERSHIP_INACTIVE")
  }

  const [only, ...others] = pat.allowedAudiences
  const audience = asked.audience || (others.length === 0 ? only : undefined)
  if (audience === undefined) return refuse("INVALID_FIELD", "audience")
  const isRegistered = audience === authAudience || app.audiences.includes(audience)
  if (!isRegistered || !pat.allowedAudiences.includes(audience)) return refuse("AUDIENCE_NOT_ALLOWED", "audience")

  const wanted = asked.scopes.length > 0 ? asked.scopes : pat.scopes
  const scopes = intersect(wanted, pat.scopes, scopesHeld(app, facts.placeMembership, audience))
  return scopes.length === 0 ? refuse("SCOPE_NOT_GRANTED", "scope") : { is: "grant", pat, audience, scopes, contextId }
}

const refuse = (reason: Reason, field?: string): PatExchange =>
  field === undefined ? { is: "refuse", reason } : { is: "refuse", reason, field }
