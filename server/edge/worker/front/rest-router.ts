// Which REST route a path belongs to, by the rules of Node's router: fixed text wins over variables, segment by segment,
// from the left.
import { Refused } from "@signet/kernel/errors"
import type { Segment } from "../../../rest/http-rule.ts"
import type { RestRoute } from "../../../rest/rest.ts"

/** The longest that a variable's text may be, in characters. */
const maxVariable = 256

/** The segments of a path, decoded. @throws Refused MALFORMED_REQUEST when they are not UTF-8. */
export function decodedPath(path: string): readonly string[] {
  try {
    return path.split("/").slice(1).map(decodeURIComponent)
  } catch {
    throw new Refused("MALFORMED_REQUEST")
  }
}

/** @returns Finds the route of a verb and a decoded path; undefined when there is none. */
export function restRouter(
  routes: readonly RestRoute[],
): (verb: string, path: readonly string[]) => RestRoute | undefined {
  const found = Map.groupBy(routes.toSorted(bySpecificity), keyOf)
  return (verb, path) =>
    found
      .get(`${verb} ${path.length}`)
      ?.find(({ binding }) => binding.segments.every((segment, at) => isMatch(segment, path[at] ?? "")))
}

const keyOf = ({ verb, binding }: RestRoute): string => `${verb} ${binding.segments.length}`

const rank = ({ literal, verb }: Segment): number => (literal !== undefined && verb === "" ? 0 : verb === "" ? 2 : 1)

function bySpecificity(a: RestRoute, b: RestRoute): number {
  for (const [at, segment] of a.binding.segments.entries()) {
    const other = b.binding.segments[at]
    const difference = other === undefined ? 0 : rank(segment) - rank(other)
    if (difference !== 0) return difference
  }
  return 0
}

function isMatch({ literal, verb }: Segment, text: string): boolean {
  if (literal !== undefined) return text === literal + verb
  if (verb === "") return text.length <= maxVariable
  const name = text.endsWith(verb) ? text.slice(0, -verb.length) : ""
  return name !== "" && name.length <= maxVariable && !/[/:]/.test(name)
}
