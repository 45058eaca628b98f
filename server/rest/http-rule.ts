// google.api.http as far as the contract uses it: literals, `{field}` and `{field=literal}`. Whatever else a rule says
// stops the program when it starts.
import { type DescField, type DescMethod, getOption } from "@bufbuild/protobuf"
import { http } from "@signet/proto/google/api/annotations"
import type { HttpRule } from "@signet/proto/google/api/http"

/** One segment of a path: fixed text, or a variable; a variable with fixed text sets its field to what the text says. */
export interface Segment {
  readonly literal: string | undefined
  readonly field: DescField | undefined
}

/** One HTTP form of a method. */
export interface Binding {
  readonly method: DescMethod
  /** `GET`, `POST`, ... */
  readonly verb: string
  readonly segments: readonly Segment[]
  /** Whether the body holds the message; otherwise the query does. */
  readonly hasBody: boolean
}

/** @throws Error when a rule cannot be served. */
export function bindingsOf(method: DescMethod): Binding[] {
  const rule = getOption(method, http)
  if (rule.pattern.case === undefined) return []
  if (method.methodKind !== "unary") throw invalid(method, "a stream has no REST form")
  return [rule, ...rule.additionalBindings].map((each) => bindingOf(method, each))
}

function bindingOf(method: DescMethod, rule: HttpRule): Binding {
  const { pattern } = rule
  if (pattern.case === undefined || pattern.case === "custom") throw invalid(method, "a verb is needed")
  if (rule.body !== "" && rule.body !== "*") throw invalid(method, "a body is the whole message or none")
  if (rule.responseBody !== "") throw invalid(method, "response_body is not served")
  const verb = pattern.case.toUpperCase()
  const hasBody = rule.body === "*"
  if (verb === "GET" && hasBody) throw invalid(method, "GET has no body")
  const redacted = method.input.fields.find((field) => field.proto.options?.debugRedact)
  if (!hasBody && redacted !== undefined) throw invalid(method, `${redacted.name} may not be in an address`)
  const segments = pattern.value
    .split("/")
    .slice(1)
    .map((text) => segmentOf(method, text))
  return { method, verb, segments, hasBody }
}

function segmentOf(method: DescMethod, text: string): Segment {
  const variable = /^\{([a-z0-9_]+)(?:=([a-z0-9._-]+))?\}$/.exec(text)
  if (variable === null) {
    if (!/^[A-Za-z0-9._~-]+$/.test(text)) throw invalid(method, `"${text}" is no path segment`)
    return { literal: text, field: undefined }
  }
  const field = method.input.fields.find(({ name }) => name === variable[1])
  if (field?.fieldKind !== "scalar" && field?.fieldKind !== "enum") {
    throw invalid(method, `${variable[1]} is no field that fits in a path`)
  }
  return { literal: variable[2], field }
}

const invalid = (method: DescMethod, why: string): Error =>
  new Error(`google.api.http of ${method.parent.typeName}.${method.name}: ${why}`)

/** The path in the form that a router takes: variables as `:field_name`. */
export function routeOf({ segments }: Binding): string {
  return segments.map(({ literal, field }) => `/${literal ?? `:${field?.name}`}`).join("")
}
