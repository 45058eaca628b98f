// Maps a message to an HTTP request by google.api.http, as far as the contract uses it.
import {
  type DescField,
  type DescMethod,
  getOption,
  type JsonObject,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf"
import { reflect } from "@bufbuild/protobuf/reflect"
import { base64Encode } from "@bufbuild/protobuf/wire"
import { Code, ConnectError } from "@connectrpc/connect"
import { wire } from "@signet/proto/api/v1/wire"
import { http } from "@signet/proto/google/api/annotations"
import type { HttpRule } from "@signet/proto/google/api/http"

export interface RestRequest {
  readonly verb: string
  /** Path and query, with a leading slash. */
  readonly target: string
  readonly contentType: string | undefined
  readonly body: string | undefined
}

/** @throws ConnectError Unimplemented for a method without a path for this message. */
export function restRequest(method: DescMethod, message: Message): RestRequest {
  const rule = getOption(method, http)
  for (const each of [rule, ...rule.additionalBindings]) {
    const path = pathOf(method, each, message)
    if (path === undefined) continue
    const json = bodyJson(method, message, path.fields)
    const of = { verb: (each.pattern.case ?? "").toUpperCase() }
    if (each.body === "")
      return { ...of, target: `${path.text}${queryOf(json)}`, contentType: undefined, body: undefined }
    const isForm = getOption(method, wire).form
    const contentType = isForm ? "application/x-www-form-urlencoded" : "application/json"
    return { ...of, target: path.text, contentType, body: isForm ? queryOf(json).slice(1) : JSON.stringify(json) }
  }
  throw new ConnectError(`${method.name} has no REST path`, Code.Unimplemented)
}

const variable = /\{([a-z0-9_]+)(?:=([a-z0-9._-]+))?\}/g

/** The path, and the fields that it contains; undefined if the path is for another value of an enum. */
function pathOf(
  { input }: DescMethod,
  { pattern }: HttpRule,
  message: Message,
): { text: string; fields: ReadonlySet<DescField> } | undefined {
  if (pattern.case === undefined || pattern.case === "custom") return undefined
  const values = reflect(input, message)
  const fields = new Set<DescField>()
  let isOfMessage = true
  const text = pattern.value.replaceAll(variable, (_, name: string, literal?: string) => {
    const field = input.fields.find((each) => each.name === name)
    const value = field && pathText(field, values.get(field))
    if (field === undefined || value === undefined || (literal !== undefined && literal !== value)) isOfMessage = false
    else fields.add(field)
    return literal ?? segmentOf(name, value ?? "")
  })
  return isOfMessage ? { text, fields } : undefined
}

/**
 * Escapes a path segment. An empty value, or one of dots alone, would change the path: the URL standard removes dots
 * even when they are escaped.
 *
 * @throws ConnectError InvalidArgument
 */
function segmentOf(name: string, value: string): string {
  if (/^\.{0,2}$/.test(value)) throw new ConnectError(`${name} does not fit into a path`, Code.InvalidArgument)
  return encodeURIComponent(value)
}

/** An enum's value is its name in lower case with hyphens. Bytes are base64url without padding. */
function pathText(field: DescField, value: unknown): string | undefined {
  if (field.fieldKind === "enum") {
    return field.enum.values
      .find(({ number }) => number === value)
      ?.name.toLowerCase()
      .replaceAll("_", "-")
  }
  if (value instanceof Uint8Array) return base64Encode(value, "url")
  return field.fieldKind === "scalar" ? String(value) : undefined
}

function bodyJson({ input }: DescMethod, message: Message, inPath: ReadonlySet<DescField>): JsonObject {
  const json = toJson(input, message)
  const names = new Set([...inPath].map(({ jsonName }) => jsonName))
  return Object.fromEntries(
    Object.entries(Object(json)).filter((entry): entry is [string, JsonValue] => !names.has(entry[0])),
  )
}

function queryOf(json: JsonObject): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(json)) {
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each))
  }
  return query.size === 0 ? "" : `?${query}`
}
