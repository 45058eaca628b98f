// The versions of authority in a token, and when they are outdated. docs/decisions/0016-permission-versions.md says why
// there are two parts.

/** Versions of a principal's authority in an app. Each only increases. */
export interface AuthorityVersions {
  /** Changes with the principal's grants, memberships and status in the app. */
  readonly principal: number
  /** Changes with the app's roles, permissions and scopes. */
  readonly policy: number
}

/** The versions before any change. */
export const noVersions: AuthorityVersions = Object.freeze({ principal: 0, policy: 0 })

/** The claim `perm_ver`. A change of either part changes it, so it serves as a cache key. */
export function permVerOf({ principal, policy }: AuthorityVersions): number {
  return principal + policy
}

/** Returns both parts as claims. */
export function versionClaims(versions: AuthorityVersions): { readonly perm_ver: number; readonly pol_ver: number } {
  return { perm_ver: permVerOf(versions), pol_ver: versions.policy }
}

/** Reads the parts from claims. A token that does not state the parts gets the lowest versions. */
export function versionsOf(claims: { readonly perm_ver: number; readonly pol_ver?: number }): AuthorityVersions {
  const { perm_ver, pol_ver } = claims
  return pol_ver === undefined || pol_ver > perm_ver ? noVersions : { principal: perm_ver - pol_ver, policy: pol_ver }
}

/** True if the token was issued before its authority was reduced: either part is below its minimum. */
export function isOutdated(held: AuthorityVersions, minimum: AuthorityVersions): boolean {
  // Written so that NaN is outdated.
  return !(held.principal >= minimum.principal && held.policy >= minimum.policy)
}
