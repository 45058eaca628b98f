// Builds requests from the command line: fields by their path, with the contract's types.
import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
} from "@bufbuild/protobuf"
import { usage } from "./failure.ts"

/**
 * Sets fields in a request as JSON.
 *
 * @param texts Texts such as `tenant.name=Kew`. A list's field may be repeated; a map's entry is `field.key=value`.
 * @throws CommandError for an unknown field.
 */
export function setFields(desc: DescMessage, json: JsonObject, texts: readonly string[]): JsonObject {
  const started = new Set<string>()
  for (const text of texts) {
    const at = text.indexOf("=")
    if (at < 1) throw usage(`-f ${text}: use FIELD=VALUE`)
    set(desc, json, text.slice(0, at).split("."), { path: text.slice(0, at), value: text.slice(at + 1), started })
  }
  return json
}

interface Setting {
  readonly path: string
  readonly value: string
  /** Lists that options have begun: they replace those of the input file. */
  readonly started: Set<string>
}

function set(desc: DescMessage, into: JsonObject, [head = "", ...rest]: readonly string[], setting: Setting): void {
  const field = fieldOf(desc, head, setting.path)
  if (field.proto.options?.debugRedact) {
    throw usage(`${setting.path} is a secret, and other users can see command lines`, "Pass it with --input -")
  }
  const name = field.jsonName
  const isWellKnown = field.message?.typeName.startsWith("google.protobuf.") === true
  if (field.fieldKind === "map") {
    const key = rest.join(".")
    if (key === "") throw usage(`${setting.path}: use ${name}.KEY=VALUE for a map`)
    objectAt(into, name)[key] = scalarOf(field, setting)
  } else if (field.fieldKind === "message" && !isWellKnown) {
    if (rest.length === 0) throw usage(`${setting.path} is a message: set its fields with ${setting.path}.FIELD=VALUE`)
    set(field.message, objectAt(into, name), rest, setting)
  } else if (rest.length > 0) {
    throw usage(`${setting.path}: ${name} has no fields`)
  } else if (field.fieldKind === "list") {
    if (field.listKind === "message") throw usage(`${setting.path} is a list of messages: pass it with --input`)
    const before = started(into, name, setting)
    into[name] = setting.value === "" ? [...before] : [...before, scalarOf(field, setting)]
  } else into[name] = scalarOf(field, setting)
}

function started(into: JsonObject, name: string, { path, started }: Setting): readonly JsonValue[] {
  const list = into[name]
  if (started.has(path) && Array.isArray(list)) return list
  started.add(path)
  return []
}

/** A text stays a text: proto3 JSON accepts numbers and enums as texts. */
function scalarOf({ scalar, jsonName }: DescField, { value, path }: Setting): JsonValue {
  // ScalarType.BOOL
  if (scalar !== 8) return value
  if (value === "true" || value === "false") return value === "true"
  throw usage(`${path}: ${jsonName} must be true or false, not ${JSON.stringify(value)}`)
}

function fieldOf(desc: DescMessage, name: string, path: string): DescField {
  const found = desc.fields.find((field) => field.name === name || field.jsonName === name)
  if (found !== undefined) return found
  const names = desc.fields.map(({ jsonName }) => jsonName).join(", ")
  throw usage(`${path}: ${desc.name} has no field ${name}`, names === "" ? "It has no fields." : `It has: ${names}`)
}

function objectAt(into: JsonObject, name: string): JsonObject {
  const there = into[name]
  if (typeof there === "object" && there !== null && !Array.isArray(there)) return there
  const made: JsonObject = {}
  into[name] = made
  return made
}

/** @throws CommandError with the field's name. */
export function parseRequest<D extends DescMessage>(desc: D, json: JsonValue): MessageShape<D> {
  try {
    return fromJson(desc, json)
  } catch (error) {
    const why = error instanceof Error ? error.message : "invalid JSON"
    throw usage(
      `the input is not a ${desc.name}: ${why}`,
      `Its fields: ${desc.fields.map(({ jsonName }) => jsonName).join(", ")}`,
    )
  }
}
