// Parses google.api.http rules as far as the contract uses them: literals, `{field}`, `{field=literal}` and a custom
// verb after the last variable (AIP-136). Any other rule fails at start.
import { type DescField, type DescMethod, getOption, hasOption } from "@bufbuild/protobuf"
import { header } from "@signet/proto/api/v1/wire"
import { http } from "@signet/proto/google/api/annotations"
import type { HttpRule } from "@signet/proto/google/api/http"

/** One segment of a path: fixed text or a variable. A variable with fixed text sets its field to that text. */
export interface Segment {
  readonly literal: string | undefined
  readonly field: DescField | undefined
  /** A custom verb with its colon, such as `:revoke`; empty for none. */
  readonly verb: string
}

/** One HTTP form of a method. */
export interface Binding {
  readonly method: DescMethod
  /** `GET`, `POST`, ... */
  readonly verb: string
  readonly segments: readonly Segment[]
  /** True if the body holds the message; otherwise the query does. */
  readonly hasBody: boolean
  /** The fields that a request header may set, by header name. */
  readonly headers: ReadonlyMap<string, DescField>
}

/** @throws Error for an unsupported rule. */
export function bindingsOf(method: DescMethod): Binding[] {
  const rule = getOption(method, http)
  if (rule.pattern.case === undefined) return []
  if (method.methodKind !== "unary") throw invalid(method, "a streaming method has no REST binding")
  return [rule, ...rule.additionalBindings].map((each) => bindingOf(method, each))
}

function bindingOf(method: DescMethod, rule: HttpRule): Binding {
  const { pattern } = rule
  if (pattern.case === undefined || pattern.case === "custom") throw invalid(method, "an HTTP method is required")
  if (rule.body !== "" && rule.body !== "*") throw invalid(method, "body must be * or empty")
  if (rule.responseBody !== "") throw invalid(method, "response_body is not supported")
  const verb = pattern.case.toUpperCase()
  const hasBody = rule.body === "*"
  if (verb === "GET" && hasBody) throw invalid(method, "GET has no body")
  const redacted = method.input.fields.find((field) => field.proto.options?.debugRedact)
  if (!hasBody && redacted !== undefined)
    throw invalid(method, `${redacted.name} is redacted and cannot be in an address`)
  const segments = pattern.value
    .split("/")
    .slice(1)
    .map((text) => segmentOf(method, text))
  if (segments.some((segment, index) => segment.verb !== "" && index + 1 < segments.length)) {
    throw invalid(method, "a custom verb must end the path")
  }
  return { method, verb, segments, hasBody, headers: headersOf(method) }
}

function headersOf({ input }: DescMethod): Map<string, DescField> {
  const fields = input.fields.filter((field) => hasOption(field, header))
  return new Map(fields.map((field) => [getOption(field, header), field]))
}

function segmentOf(method: DescMethod, text: string): Segment {
  const variable = /^\{([a-z0-9_]+)(?:=([a-z0-9._-]+))?\}(:[a-zA-Z]+)?$/.exec(text)
  if (variable === null) {
    if (!/^[A-Za-z0-9._~-]+$/.test(text)) throw invalid(method, `"${text}" is not a path segment`)
    return { literal: text, field: undefined, verb: "" }
  }
  const field = method.input.fields.find(({ name }) => name === variable[1])
  if (field?.fieldKind !== "scalar" && field?.fieldKind !== "enum") {
    throw invalid(method, `${variable[1]} is not a field that a path can hold`)
  }
  return { literal: variable[2], field, verb: variable[3] ?? "" }
}

const invalid = (method: DescMethod, why: string): Error =>
  new Error(`google.api.http of ${method.parent.typeName}.${method.name}: ${why}`)

/** The path with variables as `{field_name}`. */
export function routeOf({ segments }: Binding): string {
  return segments.map(({ literal, field, verb }) => `/${literal ?? `{${field?.name}}`}${verb}`).join("")
}
