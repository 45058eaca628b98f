// What an administrator may put into a policy, and a user into a standing delegation. Decided when they are made; an
// exchange decides again, with what holds then.
import type { DelegationPolicy } from "../machine/records.ts"
import type { App } from "../records.ts"

/** The longest that a standing delegation holds, in seconds. */
export const maxStandingSeconds = 30 * 86_400

/**
 * The field of a new policy that names what it may not: an audience that is the issuer's own or that the actor may not
 * call, or a scope that the app does not have for one of the audiences. Undefined when it may.
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

/** The same of a new standing delegation: it stays within its policy, and within what the user holds now. */
export function standingFault(
  delegation: { audiences: readonly string[]; scopes: readonly string[] },
  of: { policy: Pick<DelegationPolicy, "audiences" | "scopes">; held: readonly string[] },
): "audiences" | "scopes" | undefined {
  if (!delegation.audiences.every((audience) => of.policy.audiences.includes(audience))) return "audiences"
  const isWithin = (scope: string) => of.policy.scopes.includes(scope) && of.held.includes(scope)
  return delegation.scopes.every(isWithin) ? undefined : "scopes"
}
