// A second decoder of canonical bytes that shares no code with the first: protobuf-es parses and re-encodes, and each
// rule is read from the options. Slow, and it gives no reason.
import { type DescField, type DescMessage, fromBinary, getOption, type Message, toBinary } from "@bufbuild/protobuf"
import { reflect } from "@bufbuild/protobuf/reflect"
import { canonical, Repetition, rule } from "@signet/proto/credential/v1/canonical_options"

/** True if the bytes are the canonical encoding of a message that satisfies its rules. */
export function accepts(schema: DescMessage, bytes: Uint8Array): boolean {
  if (bytes.length > getOption(schema, canonical).maxSize) return false
  const message = parsed(schema, bytes)
  if (message === undefined) return false
  const again = toBinary(schema, message, { writeUnknownFields: false })
  return text(again) === text(bytes) && schema.fields.every((field) => obeys(field, message, schema))
}

function parsed(schema: DescMessage, bytes: Uint8Array): Message | undefined {
  try {
    return fromBinary(schema, bytes)
  } catch {
    return undefined
  }
}

function obeys(field: DescField, message: Message, schema: DescMessage): boolean {
  const reflected = reflect(schema, message)
  const stated = getOption(field, rule)
  if (!reflected.isSet(field)) return !stated.required
  if (field.fieldKind !== "list") return fits(field, reflected.get(field))
  const element = field.message
  if (element === undefined) return false
  const list: unknown = Reflect.get(message, field.localName)
  if (!Array.isArray(list) || list.length > stated.maxItems) return false
  const encoded = list.map((each: Message) => toBinary(element, each))
  const order = encoded.map(text)
  const ascends = order.every((each, at) => at === 0 || (order[at - 1] ?? "") < each)
  return (
    (stated.repetition !== Repetition.SET || ascends) &&
    encoded.every((each) => each.length > 0 && accepts(element, each))
  )
}

function fits(field: DescField, value: unknown): boolean {
  const { length, maxLength, min, max, knownBits } = getOption(field, rule)
  if (value instanceof Uint8Array) {
    return (length === 0 || value.length === length) && (maxLength === 0 || value.length <= maxLength)
  }
  if (typeof value === "string") return /^[a-z0-9._:/-]{1,128}$/.test(value)
  const number = BigInt(String(value))
  if (field.enum !== undefined && !field.enum.values.some((known) => BigInt(known.number) === number)) return false
  if (knownBits !== 0n && (number & ~knownBits) !== 0n) return false
  return number >= min && (max === 0n || number <= max)
}

/** Bytes as a string with the same sort order, a prefix first. */
function text(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes)
}
