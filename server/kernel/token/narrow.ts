import { intersect } from "../authz/scopes.ts"

/**
 * Returns the scopes of the grants `client_credentials` and `pat`: the requested or default ones that every ceiling
 * includes. Undefined if scopes were requested and none remains.
 *
 * @param asked Empty: none were requested.
 */
export function narrowed(
  asked: readonly string[],
  fallback: readonly string[],
  ...ceilings: readonly (readonly string[])[]
): readonly string[] | undefined {
  const granted = intersect(asked.length === 0 ? fallback : asked, ...ceilings)
  return asked.length > 0 && granted.length === 0 ? undefined : granted
}
