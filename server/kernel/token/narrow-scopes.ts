import { intersect } from "../authz/scopes.ts"

/**
 * Returns the scopes of a service's own token: the requested or default ones that every ceiling includes. Undefined if
 * scopes were requested and none remains.
 *
 * @param requested Empty for the default scopes.
 */
export function narrowScopes(
  requested: readonly string[],
  defaults: readonly string[],
  ...ceilings: readonly (readonly string[])[]
): readonly string[] | undefined {
  const granted = intersect(requested.length === 0 ? defaults : requested, ...ceilings)
  return requested.length > 0 && granted.length === 0 ? undefined : granted
}
