import type { DescMessage, Message } from "@bufbuild/protobuf"
import { reflect } from "@bufbuild/protobuf/reflect"

/** A rule that is not known here: a schema that has one is not served at all, or it would be served unchecked. */
export class UnknownRule extends Error {
  override readonly name = "UnknownRule"
}

/** The rules that are said, by their names. @throws UnknownRule when one is none of these. */
export function rulesIn(desc: DescMessage, rules: Message, known: readonly string[], what: string): Set<string> {
  const reflected = reflect(desc, rules)
  const set = desc.fields.filter((field) => reflected.isSet(field)).map(({ name }) => name)
  const unknown = [...set.filter((name) => !known.includes(name)), ...(rules.$unknown ?? []).map(({ no }) => `#${no}`)]
  if (unknown.length > 0) throw new UnknownRule(`${what}: ${desc.typeName} says ${unknown.join(", ")}`)
  return new Set(set)
}
