// Limits on delegation policies and standing delegations, checked at creation. Every exchange checks again against
// current data.
import type { DelegationPolicy } from "../machine/records.ts"
import type { App } from "../records.ts"

/** Maximum lifetime of a standing delegation, in seconds. */
export const maxStandingSeconds = 30 * 86_400

/**
 * Returns the field of a new policy that is not allowed; undefined if valid. It must not name the auth service's own
 * audience, an audience that the actor may not call, or a scope that the app lacks for these audiences.
 */
export function policyFault(
  policy: Pick<DelegationPolicy, "audiences" | "scopes">,
  of: { app: Pick<App, "scopes">; allowedAudiences: readonly string[]; authAudience: string },
): "audiences" | "scopes" | undefined {
  const isCallable = (audience: string) => audience !== of.authAudience && of.allowedAudiences.includes(audience)
  if (!policy.audiences.every(isCallable)) return "audiences"
  const known = of.app.scopes.filter(({ audience }) => policy.audiences.includes(audience)).map(({ key }) => key)
  return policy.scopes.every((scope) => known.includes(scope)) ? undefined : "scopes"
}

/** Same for a new standing delegation: it must stay within its policy and within the user's current scopes. */
export function standingFault(
  delegation: { audiences: readonly string[]; scopes: readonly string[] },
  of: { policy: Pick<DelegationPolicy, "audiences" | "scopes">; held: readonly string[] },
): "audiences" | "scopes" | undefined {
  if (!delegation.audiences.every((audience) => of.policy.audiences.includes(audience))) return "audiences"
  const isWithin = (scope: string) => of.policy.scopes.includes(scope) && of.held.includes(scope)
  return delegation.scopes.every(isWithin) ? undefined : "scopes"
}
