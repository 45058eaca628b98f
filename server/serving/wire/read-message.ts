import {
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf"
import { isFieldError } from "@bufbuild/protobuf/reflect"
import { Refused } from "@signet/kernel/errors"
import { maxDepth, shown } from "./strict-json.ts"

/**
 * Reads a message from its JSON form (proto3 JSON), with a reason for each refusal.
 *
 * @param json The result of parseStrictJson.
 * @throws Refused MALFORMED_REQUEST, UNKNOWN_FIELD, DUPLICATE_FIELD (one field by both of its names), INVALID_FIELD
 */
export function messageFromJson(desc: DescMessage, json: JsonValue): Message {
  if (!isObject(json)) throw new Refused("MALFORMED_REQUEST", { message: "the body is not a JSON object" })
  checkNames(desc, json, "")
  try {
    return fromJson(desc, json)
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    // The library's message contains the value, so only the field's name is reported.
    throw new Refused("INVALID_FIELD", isFieldError(cause) ? { metadata: { field: cause.field().name } } : {})
  }
}

/**
 * Reads a message from its binary form. Unknown fields are dropped.
 *
 * @throws Refused MALFORMED_REQUEST, NESTING_TOO_DEEP
 */
export function messageFromBinary(desc: DescMessage, bytes: Uint8Array): Message {
  try {
    return fromBinary(desc, bytes, { readUnknownFields: false, recursionLimit: maxDepth })
  } catch (error) {
    const isTooDeep = String(error).includes("maximum recursion depth")
    throw new Refused(isTooDeep ? "NESTING_TOO_DEEP" : "MALFORMED_REQUEST")
  }
}

type JsonObject = { [name: string]: JsonValue }

export const isObject = (json: JsonValue | undefined): json is JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

/** Every member must name a field once, by its JSON name or proto name, at every level with a schema. */
function checkNames(desc: DescMessage, json: JsonValue, path: string): void {
  // Well-known types have JSON forms of their own.
  if (!isObject(json) || desc.typeName.startsWith("google.protobuf.")) return
  const seen = new Set<DescField>()
  for (const [name, value] of Object.entries(json)) {
    const field = fieldNamed(desc, name)
    if (field === undefined) throw new Refused("UNKNOWN_FIELD", { metadata: { field: shown(path + name) } })
    if (seen.has(field)) throw new Refused("DUPLICATE_FIELD", { metadata: { field: path + field.name } })
    seen.add(field)
    if (!field.message) continue
    for (const [at, nested] of nestedIn(field, value)) checkNames(field.message, nested, `${path}${field.name}${at}.`)
  }
}

function nestedIn(field: DescField, value: JsonValue): [string, JsonValue][] {
  if (field.fieldKind === "list") return Array.isArray(value) ? value.map((item, index) => [`[${index}]`, item]) : []
  return [["", value]]
}

/** A field by its JSON name or its proto name. */
export function fieldNamed(desc: DescMessage, name: string): DescField | undefined {
  return desc.fields.find((field) => field.jsonName === name || field.name === name)
}
