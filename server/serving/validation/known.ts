import type { DescMessage, Message } from "@bufbuild/protobuf"
import { reflect } from "@bufbuild/protobuf/reflect"

/** A rule that this validator does not know. A schema with one is not served, because it would be unchecked. */
export class UnknownRule extends Error {
  override readonly name = "UnknownRule"
}

/** The names of the rules that are set. @throws UnknownRule for an unknown one. */
export function rulesIn(desc: DescMessage, rules: Message, known: readonly string[], what: string): Set<string> {
  const reflected = reflect(desc, rules)
  const set = desc.fields.filter((field) => reflected.isSet(field)).map(({ name }) => name)
  const unknown = [...set.filter((name) => !known.includes(name)), ...(rules.$unknown ?? []).map(({ no }) => `#${no}`)]
  if (unknown.length > 0) throw new UnknownRule(`${what}: ${desc.typeName} says ${unknown.join(", ")}`)
  return new Set(set)
}
