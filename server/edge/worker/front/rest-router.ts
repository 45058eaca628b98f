// Finds the REST route of a path by the rules of Node's router: fixed text precedes variables, segment by segment from
// the left.
import { Refused } from "@signet/kernel/errors"
import type { Segment } from "../../../serving/rest/http-rule.ts"
import type { RestRoute } from "../../../serving/rest/rest.ts"

/** The longest variable, in characters. */
const maxVariable = 256

/** The decoded segments of a path. @throws Refused MALFORMED_REQUEST when they are not UTF-8. */
export function decodedPath(path: string): readonly string[] {
  try {
    return path.split("/").slice(1).map(decodeURIComponent)
  } catch {
    throw new Refused("MALFORMED_REQUEST")
  }
}

/**
 * Finds the route of a verb and a decoded path; undefined without one.
 *
 * @throws Refused MALFORMED_REQUEST when only a variable's length prevents a match.
 */
type FindRoute = (verb: string, path: readonly string[]) => RestRoute | undefined

export function restRouter(routes: readonly RestRoute[]): FindRoute {
  const sorted = routes.toSorted(bySpecificity)
  const found = Map.groupBy(sorted, keyOf)
  return (verb, path) => {
    const route = found
      .get(`${verb} ${path.length}`)
      ?.find(({ binding }) => binding.segments.every((segment, at) => isMatch(segment, path[at] ?? "")))
    if (route === undefined && sorted.some((each) => each.verb === verb && isTooLong(each, path))) {
      throw new Refused("MALFORMED_REQUEST")
    }
    return route
  }
}

/** True if the path matches the route up to a variable that is too long. */
function isTooLong({ binding }: RestRoute, path: readonly string[]): boolean {
  for (const [at, text] of path.entries()) {
    const segment = binding.segments[at]
    if (segment === undefined || isMatch(segment, text)) continue
    // Longer than any variable with the verb after it, so no pattern needs to be matched.
    const isLong = text.length > maxVariable + segment.verb.length
    return segment.literal === undefined && (isLong || isMatch(segment, text, Number.POSITIVE_INFINITY))
  }
  return false
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

function isMatch({ literal, verb }: Segment, text: string, longest = maxVariable): boolean {
  if (literal !== undefined) return text === literal + verb
  if (verb === "") return text.length <= longest
  const name = text.endsWith(verb) ? text.slice(0, -verb.length) : ""
  return name !== "" && name.length <= longest && !/[/:]/.test(name)
}
