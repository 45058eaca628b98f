// A Connect transport that speaks REST by google.api.http, so that one story runs over the REST paths too.
import { create, type DescMessage, fromJson, getOption, type JsonObject, toJson } from "@bufbuild/protobuf"
import { base64Decode } from "@bufbuild/protobuf/wire"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { http } from "@signet/proto/google/api/annotations"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"

interface Problem {
  reason?: string
  detail?: string
  code?: number
  metadata?: Record<string, string>
  details?: { type: string; value: string }[]
}

const codeOf: Record<number, Code> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  409: Code.Aborted,
  413: Code.ResourceExhausted,
  429: Code.ResourceExhausted,
  503: Code.Unavailable,
}

/** @param baseUrl Without a slash at the end. */
export function createRestTransport(baseUrl: string): Transport {
  return {
    async unary(method, signal, _timeoutMs, header, input) {
      const { pattern } = getOption(method, http)
      if (pattern.case === undefined || pattern.case === "custom") {
        throw new ConnectError(`${method.name} has no REST path`, Code.Unimplemented)
      }
      const schema = method.input as DescMessage
      const message = create(schema, input as Record<string, unknown>)
      const json = toJson(schema, message) as JsonObject
      // In a path, zero is said.
      const whole = toJson(schema, message, { alwaysEmitImplicit: true }) as JsonObject
      // A variable with a literal template is that literal: {provider=idp-a} is idp-a.
      const path = pattern.value.replaceAll(/\{(\w+)(?:=([^}*]+))?\}/g, (_, name: string, literal?: string) => {
        const { jsonName = name } = method.input.fields.find((field) => field.name === name) ?? {}
        const text = literal ?? encodeURIComponent(String(whole[jsonName]))
        delete json[jsonName]
        return text
      })
      const query = new URLSearchParams()
      const hasBody = pattern.case === "post" || pattern.case === "patch"
      for (const [name, value] of hasBody ? [] : Object.entries(json)) {
        for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each))
      }
      const headers = new Headers(header)
      if (hasBody) headers.set("content-type", "application/json")
      const response = await fetch(`${baseUrl}${path}${query.size > 0 ? `?${query}` : ""}`, {
        method: pattern.case.toUpperCase(),
        headers,
        ...(hasBody ? { body: JSON.stringify(json) } : {}),
        ...(signal ? { signal } : {}),
      })
      const text = await response.text()
      if (!response.ok) throw errorOf(response, JSON.parse(text) as Problem)
      return {
        stream: false,
        service: method.parent,
        method,
        header: response.headers,
        trailer: new Headers(),
        message: fromJson(method.output, text === "" ? {} : JSON.parse(text)),
      }
    },
    stream: () => Promise.reject(new ConnectError("no streams over REST", Code.Unimplemented)),
  }
}

function errorOf(response: Response, problem: Problem): ConnectError {
  const { reason = "", metadata = {} } = problem
  const info = { desc: ErrorInfoSchema, value: { reason, domain: "signet", metadata } }
  const error = new ConnectError(problem.detail ?? "", codeOf[response.status] ?? Code.Unknown, response.headers, [
    info,
  ])
  for (const { type, value } of problem.details ?? []) error.details.push({ type, value: base64Decode(value) })
  return error
}
