// REST by google.api.http, for any HTTP server. Every route calls its method through the same interceptors.

import { type JsonValue, type Message, toJsonString } from "@bufbuild/protobuf"
import type { ConnectError, HandlerContext, Interceptor } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { type CallContext, callContext } from "../call-context.ts"
import { collectMethods, type Routes } from "../collect.ts"
import { refusalError, toConnectError } from "../errors.ts"
import { type Invoke, invoker } from "../invoker.ts"
import { isFormMethod, maxRequestBytes, mediaType, namesEmpty } from "../wire/limits.ts"
import { parseStrictJson } from "../wire/strict-json.ts"
import { parseTimeout } from "../wire/timeout.ts"
import { revalidated } from "./etag.ts"
import { formJson, parseForm } from "./form.ts"
import type { RestRequest, RestResponse } from "./http.ts"
import { isForm, isJson } from "./http-headers.ts"
import { type Binding, bindingsOf, routeOf } from "./http-rule.ts"
import { oauthFailure } from "./oauth-failure.ts"
import { problemOf } from "./problem.ts"
import { requestMessage } from "./request-message.ts"

export interface RestOptions {
  readonly routes: Routes
  readonly interceptors: readonly Interceptor[]
  /** Runs when the headers have arrived, before the body is read. */
  readonly requestGate?: ((context: HandlerContext) => void | Promise<void>) | undefined
  /** Called for faults outside of the interceptors. */
  readonly onFault: (fault: unknown) => void
}

export interface RestRoute {
  readonly binding: Binding
  /** `GET`, `POST`, ... */
  readonly verb: string
  /** With variables as `{name}`. */
  readonly path: string
  readonly answer: (request: RestRequest) => Promise<RestResponse>
}

/** @throws Error for an unsupported rule, and for two methods with the same route. */
export function restRoutes(options: RestOptions): RestRoute[] {
  const routes = collectMethods(options.routes).flatMap((spec) =>
    bindingsOf(spec.method).map((binding): RestRoute => {
      if (spec.kind !== "unary") throw new Error(`${spec.method.name} is a stream and has no REST form`)
      const invoke = invoker(spec, options.interceptors)
      return {
        binding,
        verb: binding.verb,
        path: routeOf(binding),
        answer: (request) => answer(options, binding, invoke, request),
      }
    }),
  )
  const names = routes.map(({ verb, path }) => `${verb} ${path}`)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new Error(`two methods claim ${twice}`)
  return routes
}

async function answer(
  options: RestOptions,
  binding: Binding,
  invoke: Invoke,
  request: RestRequest,
): Promise<RestResponse> {
  let context: CallContext | undefined
  try {
    context = callContext({
      method: binding.method,
      protocolName: "rest",
      requestMethod: binding.verb,
      url: request.url,
      requestHeader: request.headers,
      timeoutMs: parseTimeout(request.header),
      gone: request.gone,
      values: request.values,
    })
    await options.requestGate?.(context)
    const body = await readBodyOf(binding, request)
    const message = await invoke(requestMessage(binding, request, body), context)
    return await revalidated(request, success(binding, message, context.writtenHeader))
  } catch (thrown) {
    const error = toConnectError(thrown, options.onFault)
    const render = isFormMethod(binding.method) ? oauthFailure : failure
    return render(error, request.id, context?.writtenHeader)
  } finally {
    context?.close()
  }
}

async function readBodyOf(binding: Binding, request: RestRequest): Promise<JsonValue | undefined> {
  const bytes = await request.readBody(binding.hasBody ? maxRequestBytes(binding.method) : 0)
  if (isFormMethod(binding.method)) return formOf(binding, request, bytes)
  if (bytes.length === 0) return undefined
  // A form is refused too: browsers send forms cross-origin without a preflight (CSRF).
  if (!isJson(request.header("content-type"), request.header("content-encoding"))) {
    throw new Refused("UNSUPPORTED_MEDIA_TYPE")
  }
  return parseStrictJson(bytes)
}

function formOf({ method }: Binding, request: RestRequest, bytes: Uint8Array): JsonValue {
  // Addresses end up in logs, so secrets there are refused unread, and the answer omits their names.
  if (request.query !== "")
    throw new Refused("UNKNOWN_FIELD", { message: "send the parameters in the body, not in the query" })
  if (bytes.length > 0 && !isForm(request.header("content-type"), request.header("content-encoding"))) {
    throw new Refused("UNSUPPORTED_MEDIA_TYPE")
  }
  return formJson(method.input, parseForm(bytes))
}

function success({ method }: Binding, message: Message, written: Headers | undefined): RestResponse {
  const headers = new Headers(written)
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store")
  // An empty message has no body. Forms still get 200 (RFC 7009 section 2.2).
  if (method.output.fields.length === 0 && !isFormMethod(method)) return { status: 204, headers, body: "" }
  headers.set("content-type", mediaType(method))
  const body = toJsonString(method.output, message, { alwaysEmitImplicit: namesEmpty(method) })
  return { status: 200, headers, body }
}

function failure(error: ConnectError, requestId: string, written: Headers | undefined): RestResponse {
  const problem = problemOf(error, requestId)
  const headers = new Headers(written)
  for (const [name, value] of error.metadata) headers.append(name, value)
  headers.set("cache-control", "no-store")
  headers.set("content-type", "application/problem+json")
  return { status: problem.status, headers, body: JSON.stringify(problem) }
}

/** The REST form of a refusal outside of any route. */
export function refusal(refused: Refused, requestId: string): RestResponse {
  return failure(refusalError(refused), requestId, undefined)
}
