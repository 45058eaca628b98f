// Builds a method's message from an HTTP request: body or query, then path, then headers. Each field may be set once.
import { type DescField, type DescMessage, type JsonValue, type Message, ScalarType } from "@bufbuild/protobuf"
import { reflect } from "@bufbuild/protobuf/reflect"
import { TimestampSchema } from "@bufbuild/protobuf/wkt"
import { Refused } from "@signet/kernel/errors"
import { fieldNamed, messageFromJson } from "../wire/read-message.ts"
import { shown } from "../wire/strict-json.ts"
import type { Binding } from "./http-rule.ts"

/** The parts of a request besides its body. */
export interface Address {
  /** Percent-encoded as received, without the query. */
  readonly path: string
  /** Without the question mark. */
  readonly query: string
  readonly header: (name: string) => string | null
}

/**
 * @param body The JSON body; undefined without one, which counts as an empty object.
 * @throws Refused FIELD_CONFLICT, UNKNOWN_FIELD, DUPLICATE_FIELD, INVALID_FIELD, MALFORMED_REQUEST
 */
export function requestMessage(binding: Binding, address: Address, body: JsonValue | undefined): Message {
  const { input } = binding.method
  if (binding.hasBody && address.query !== "") throw unknownParameter(firstName(address.query))
  const json = binding.hasBody ? (body === undefined ? {} : body) : queryJson(binding, address.query)
  const message = messageFromJson(input, json)
  for (const [field, text] of pathValues(binding, address.path)) setOnce(input, message, field, text)
  for (const [name, field] of binding.headers) {
    const text = address.header(name)
    if (text !== null) setOnce(input, message, field, text)
  }
  return message
}

function queryJson(binding: Binding, query: string): JsonValue {
  const json: Record<string, JsonValue> = {}
  for (const [name, text] of new URLSearchParams(query)) {
    const field = fieldNamed(binding.method.input, name)
    const isInPath = binding.segments.some((segment) => segment.field === field)
    if (field === undefined || isInPath || !isInQuery(field)) throw unknownParameter(name)
    const value = fieldJson(field, text)
    if (field.fieldKind === "list") {
      const list = json[field.jsonName]
      json[field.jsonName] = Array.isArray(list) ? [...list, value] : [value]
    } else {
      if (Object.hasOwn(json, field.jsonName)) throw new Refused("DUPLICATE_FIELD", { metadata: { field: field.name } })
      json[field.jsonName] = value
    }
  }
  return json
}

/** The query sets no message fields, except times, which are text in JSON. */
const isInQuery = (field: DescField): boolean =>
  field.message === undefined || field.message.typeName === TimestampSchema.typeName

/** A text as the JSON of its field; the JSON parser reads numbers from text. */
function fieldJson(field: DescField, text: string): JsonValue {
  if (field.scalar === ScalarType.BOOL && (text === "true" || text === "false")) return text === "true"
  return text
}

function* pathValues({ segments }: Binding, path: string): Generator<[DescField, string]> {
  const parts = path.split("/").slice(1)
  for (const [index, { field, literal, verb }] of segments.entries()) {
    const part = parts[index] ?? ""
    if (field !== undefined) yield [field, literal ?? decodeSegment(verb === "" ? part : part.slice(0, -verb.length))]
  }
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Refused("MALFORMED_REQUEST", { message: "the path is not UTF-8" })
  }
}

/** Sets a field. @throws Refused FIELD_CONFLICT if it has another value */
function setOnce(input: DescMessage, message: Message, field: DescField, text: string): void {
  const value = fieldNumber(field, text) ?? reflect(input, messageFromJson(input, jsonOf(field, text))).get(field)
  const target = reflect(input, message)
  if (target.isSet(field) && target.get(field) !== value) {
    throw new Refused("FIELD_CONFLICT", { metadata: { field: field.name } })
  }
  target.set(field, value)
}

/** The number of an enum value, by its name in lower case with hyphens: `idp-a` is IDP_A. */
function fieldNumber(field: DescField, text: string): number | undefined {
  if (field.enum === undefined) return undefined
  const value = field.enum.values.find(({ name }) => name.toLowerCase().replaceAll("_", "-") === text)
  if (value === undefined) throw new Refused("INVALID_FIELD", { metadata: { field: field.name } })
  return value.number
}

const jsonOf = (field: DescField, text: string): JsonValue => ({ [field.jsonName]: fieldJson(field, text) })

const firstName = (query: string): string => [...new URLSearchParams(query).keys()][0] ?? ""

const unknownParameter = (name: string): Refused => new Refused("UNKNOWN_FIELD", { metadata: { field: shown(name) } })
