import { type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf"
import { isReflectList, isReflectMessage, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect"

/**
 * Finds text that databases cannot store: U+0000 and unpaired surrogates (RFC 8259 section 8.2).
 *
 * @returns The proto path of the first such field; undefined when all text is valid.
 */
export function unstorableText(desc: DescMessage, message: Message): string | undefined {
  return textual(desc).length === 0 ? undefined : search(reflect(desc, message))
}

function search(message: ReflectMessage): string | undefined {
  for (const field of textual(message.desc)) {
    if (!message.isSet(field)) continue
    for (const [at, value] of valuesOf(message.get(field))) {
      if (typeof value === "string" && !isStorable(value)) return `${field.name}${at}`
      if (!isReflectMessage(value)) continue
      const nested = search(value)
      if (nested !== undefined) return `${field.name}${at}.${nested}`
    }
  }
  return undefined
}

const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed()

/** Each value of a field with its index. A validated request has no map (see ../validation/plan.ts). */
function* valuesOf(value: unknown): Generator<[at: string, value: unknown]> {
  if (isReflectList(value)) {
    for (const [index, item] of value.entries()) yield [`[${index}]`, item]
  } else yield ["", value]
}

const known = new WeakMap<DescMessage, readonly DescField[]>()

/** The fields that may contain text, at any depth; computed once per type. */
function textual(desc: DescMessage): readonly DescField[] {
  const found = known.get(desc)
  if (found !== undefined) return found
  // During its computation, a recursive type counts as containing text.
  known.set(desc, desc.fields)
  const fields = desc.fields.filter(
    (field) => field.scalar === ScalarType.STRING || (field.message !== undefined && textual(field.message).length > 0),
  )
  known.set(desc, fields)
  return fields
}
