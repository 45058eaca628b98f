// Connect and gRPC-Web: selects the method and the message form, and answers.
import { MethodOptions_IdempotencyLevel as Idempotency } from "@bufbuild/protobuf/wkt"
import type { MethodImplSpec } from "@connectrpc/connect"
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc"
import { Refused } from "@signet/kernel/errors"
import { collectMethods, type Routes } from "../../../serving/collect.ts"
import { refusalError } from "../../../serving/errors.ts"
import { refusedStream, streamCall } from "../../../serving/stream-call.ts"
import { type UnaryOptions, type UnaryRequest, unaryCall } from "../../../serving/unary-call.ts"
import { type Framing, framingOf, queryBytes } from "../../../serving/wire/unary-body.ts"
import { streamAnswer, wholeAnswer } from "./answers.ts"
import type { Arrived } from "./arrived.ts"
import { readBody } from "./read-body.ts"

export type Answer = (arrived: Arrived) => Promise<Response>

/** The answers to calls, by verb and path. @throws Error for a method with a stream of requests. */
export function rpcAnswers(options: UnaryOptions, routes: Routes): Map<string, Answer> {
  const answers = new Map<string, Answer>()
  for (const spec of collectMethods(routes)) {
    const { method } = spec
    const path = `/${method.parent.typeName}/${method.name}`
    answers.set(`POST ${path}`, posted(spec, options))
    if (spec.kind === "unary" && method.idempotency === Idempotency.NO_SIDE_EFFECTS) {
      answers.set(`GET ${path}`, asked(spec, options))
    }
  }
  return answers
}

/** Content types as Connect parses them: a charset is permitted for JSON only. */
const known =
  /^application\/(?:(?:connect\+|grpc-web\+)?json(?:; ?charset=utf-?8)?|(?:connect\+|grpc-web\+)?proto|grpc-web)$/i

function posted(spec: MethodImplSpec, options: UnaryOptions): Answer {
  const answer = answerOf(spec, options)
  const isStream = spec.kind === "server_streaming"
  return async (arrived) => {
    const type = arrived.request.headers.get("content-type") ?? ""
    // gRPC needs trailers, which a Worker cannot send. A gateway speaks gRPC and calls gRPC-Web here.
    const framing = known.test(type) ? framingOf(type) : undefined
    const other = isStream ? "connect" : "connect-stream"
    if (framing === undefined || framing.protocol === other) throw new Refused("UNSUPPORTED_MEDIA_TYPE")
    return answer(arrived, framing)
  }
}

function answerOf(
  spec: MethodImplSpec,
  options: UnaryOptions,
): (arrived: Arrived, framing: Framing) => Promise<Response> {
  if (spec.kind === "unary") {
    const call = unaryCall(spec, options)
    return async (arrived, framing) => {
      const { status, headers, body } = await call(requestOf(arrived, framing))
      return wholeAnswer(status, headers, body)
    }
  }
  if (spec.kind !== "server_streaming") throw new Error(`${spec.method.name}: client streaming is not supported here`)
  const call = streamCall(spec, options)
  return async (arrived, framing) =>
    streamAnswer(await call(requestOf(arrived, framing)), arrived.left, options.onFault)
}

/** A Connect GET, whose message is in the URL. */
function asked(spec: MethodImplSpec & { kind: "unary" }, options: UnaryOptions): Answer {
  const call = unaryCall(spec, options)
  return async (arrived) => {
    const { searchParams } = arrived.url
    const encoding = searchParams.get("encoding")
    if (encoding !== "json" && encoding !== "proto") throw new Refused("UNSUPPORTED_MEDIA_TYPE")
    const framing: Framing = { protocol: "connect", isJson: encoding === "json", isEnveloped: false }
    const { status, headers, body } = await call({
      ...requestOf(arrived, framing),
      verb: "GET",
      readBody: async (maxBytes) => queryBytes(searchParams, maxBytes),
    })
    return wholeAnswer(status, headers, body)
  }
}

function requestOf({ request, values, gone }: Arrived, framing: Framing): UnaryRequest {
  return {
    framing,
    url: request.url,
    header: (name) => request.headers.get(name) ?? undefined,
    headers: () => request.headers,
    gone,
    values,
    readBody: (maxBytes) => readBody(request, maxBytes),
  }
}

/** A refusal in the frame of gRPC, gRPC-Web or a Connect stream. */
export function refusedAnswer(refused: Refused, framing: Framing): Response {
  const error = refusalError(refused)
  if (framing.protocol !== "grpc") {
    const { headers, body } = refusedStream(framing, error)
    return wholeAnswer(200, headers, new Uint8Array(body))
  }
  // Without a message, gRPC's trailers may be headers (gRPC over HTTP/2, "Trailers-Only").
  const headers = new Headers({ "content-type": "application/grpc", "cache-control": "no-store" })
  setTrailerStatus(headers, error)
  return new Response(null, { status: 200, headers })
}
