import { intersect } from "../authz/scopes.ts"

/**
 * What the grants `client_credentials` and `pat` give: of what is asked for, or else of the default, whatever every
 * ceiling has. Undefined when something was asked for and nothing of it is left.
 *
 * @param asked Empty: nothing was asked for.
 */
export function narrowed(
  asked: readonly string[],
  fallback: readonly string[],
  ...ceilings: readonly (readonly string[])[]
): readonly string[] | undefined {
  const granted = intersect(asked.length === 0 ? fallback : asked, ...ceilings)
  return asked.length > 0 && granted.length === 0 ? undefined : granted
}
