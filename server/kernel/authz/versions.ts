// How a token says which authority it was issued under, and when that is too old.
// docs/decisions/0016-permission-versions.md says why there are two parts.

/** Versions of what a principal may do in an app. Each only rises. */
export interface AuthorityVersions {
  /** Of the principal in the app: its grants, memberships and status. */
  readonly principal: number
  /** Of the app's policy: its roles, permissions and scopes. */
  readonly policy: number
}

/** Nothing was ever changed. */
export const noVersions: AuthorityVersions = Object.freeze({ principal: 0, policy: 0 })

/** The claim `perm_ver`: any change of either part makes another, and so another key for what is kept of it. */
export function permVerOf({ principal, policy }: AuthorityVersions): number {
  return principal + policy
}

/** Both parts as claims. */
export function versionClaims(versions: AuthorityVersions): { readonly perm_ver: number; readonly pol_ver: number } {
  return { perm_ver: permVerOf(versions), pol_ver: versions.policy }
}

/** The parts that claims tell. Of a sum whose parts are not told nothing is known, so both are the lowest there are. */
export function versionsOf(claims: { readonly perm_ver: number; readonly pol_ver?: number }): AuthorityVersions {
  const { perm_ver, pol_ver } = claims
  return pol_ver === undefined || pol_ver > perm_ver ? noVersions : { principal: perm_ver - pol_ver, policy: pol_ver }
}

/** True for what was issued before authority was taken away: either part is below its minimum. */
export function isOutdated(held: AuthorityVersions, minimum: AuthorityVersions): boolean {
  // So written, what is no number is outdated.
  return !(held.principal >= minimum.principal && held.policy >= minimum.policy)
}
