// A requirement in a policy file: a name defined in the file, the full name of an RPC, or an inline definition.
import { type DescMethod, fromJson, type JsonValue } from "@bufbuild/protobuf"
import type { Requirement } from "@signet/kernel/authz/requirement"
import { AuthRequirementSchema } from "@signet/proto/authz/v1/requirement"
import { parseRequirement, requirementOf } from "../requirement.ts"
import type { Value } from "./yaml-reader.ts"

/** Finds an RPC by full name, such as "signet.auth.v1.SessionService.ListSessions". */
export type FindMethod = (name: string) => DescMethod | undefined

export function readRequirement(
  value: Value,
  own: ReadonlyMap<string, Requirement>,
  findMethod: FindMethod,
): Requirement {
  if (!value.isText())
    return tried(value, () => parseRequirement(fromJson(AuthRequirementSchema, longForm(value.json()))))
  const name = value.text()
  const known = own.get(name)
  if (known !== undefined) return known
  const method = findMethod(name.replace("/", "."))
  if (method === undefined) return value.fail(`unknown requirement or RPC "${name}"`)
  return tried(value, () => requirementOf(method))
}

function tried<Result>(value: Value, read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    return value.fail(error instanceof Error ? error.message : "no requirement")
  }
}

const lists: Readonly<Record<string, string>> = {
  any_of: "of",
  anyOf: "of",
  all_of: "of",
  allOf: "of",
  kinds: "of",
  delegated: "actors",
}

/**
 * Expands the short form to AuthRequirement JSON: a list replaces a message that only holds a list, as in `kinds:
 * [USER]`.
 */
function longForm(value: unknown): JsonValue {
  if (Array.isArray(value)) return value.map(longForm)
  if (typeof value !== "object" || value === null) return value as JsonValue
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const list = lists[name]
      return [name, list !== undefined && Array.isArray(inner) ? { [list]: longForm(inner) } : longForm(inner)]
    }),
  )
}
