// Translates native gRPC to Connect for the target. Messages stay encoded: unary ones lose their frame, streams keep
// their frames, and the status goes into trailers.
import { once } from "node:events"
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http"
import { Code, ConnectError } from "@connectrpc/connect"
import {
  codeFromHttpStatus,
  endStreamFlag,
  endStreamFromJson,
  errorFromJsonBytes,
} from "@connectrpc/connect/protocol-connect"
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc"
import { Refused } from "@signet/kernel/errors"
import { longestTimerMs } from "../../../serving/call-context.ts"
import { toConnectError } from "../../../serving/errors.ts"
import { maxRequestBytes } from "../../../serving/wire/limits.ts"
import { parseTimeout } from "../../../serving/wire/timeout.ts"
import { refuseCompression } from "../../../serving/wire/unary-body.ts"
import { type CallSignal, callSignal } from "./call-signal.ts"
import { allOf, framed, framesIn, readFrame } from "./frames.ts"
import type { GatewayContext } from "./gateway-context.ts"
import { answerHeaders, onwardHeaders } from "./headers.ts"

/** The longest message of a method that the contract does not have, in bytes. */
const unknownMethodBytes = 65_536

/** An answer of the target in gRPC's terms. */
interface UpstreamReply {
  readonly headers: OutgoingHttpHeaders
  readonly trailers: Headers
  readonly error: ConnectError | undefined
}

export async function answerGrpc(
  context: GatewayContext,
  isJson: boolean,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const header = (name: string) => [request.headers[name] ?? []].flat().join(", ") || undefined
  const codec = isJson ? "json" : "proto"
  const contentType = `application/grpc+${codec}`
  let call: CallSignal | undefined
  try {
    const path = request.url ?? ""
    const method = context.methods.get(path)
    const isStream = method?.methodKind === "server_streaming"
    if (method !== undefined && !isStream && method.methodKind !== "unary") throw new Refused("METHOD_UNKNOWN")
    const timeoutMs = parseTimeout(header)
    refuseCompression(header)
    call = callSignal(context, response, { timeoutMs, isStream })
    const { length, message } = await call.whole(
      readFrame(request, method === undefined ? unknownMethodBytes : maxRequestBytes(method)),
    )
    const answer = await call.whole(
      context.target.send({
        method: "POST",
        path,
        headers: {
          ...onwardHeaders(request, context.moreHeaders),
          ...connectHeaders(isStream ? `application/connect+${codec}` : `application/${codec}`, timeoutMs),
          "content-length": isStream ? framed(new Uint8Array()).length + length : length,
        },
        body: isStream ? inFrame(length, message) : message,
        signal: call.signal,
      }),
    )
    call.bodyIsRead()
    if (isStream && isOk(answer, "application/connect+")) {
      await passStream(context, contentType, answer, response, call.signal)
    } else {
      const body = await call.whole(allOf(answer, context.maxAnswerBytes))
      if (isOk(answer, `application/${codec}`)) sendMessage(contentType, answer.headers, body, response)
      else sendStatus(contentType, replyOf(answer, body), response)
    }
  } catch (thrown) {
    const error = toConnectError(call?.signal.aborted ? call.ended() : thrown, context.onFault)
    sendStatus(contentType, { headers: {}, trailers: new Headers(error.metadata), error }, response)
  } finally {
    call?.close()
  }
}

function connectHeaders(contentType: string, timeoutMs: number | undefined): OutgoingHttpHeaders {
  return {
    "content-type": contentType,
    "connect-protocol-version": "1",
    ...(timeoutMs === undefined
      ? {}
      : { "connect-timeout-ms": String(Math.min(Math.ceil(timeoutMs), longestTimerMs)) }),
    // Headers of gRPC, not of Connect.
    "grpc-timeout": undefined,
    "grpc-encoding": undefined,
    "grpc-accept-encoding": undefined,
    "accept-encoding": "identity",
  }
}

async function* inFrame(length: number, message: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const head = framed(new Uint8Array())
  head.writeUInt32BE(length, 1)
  yield head
  yield* message
}

const isOk = ({ statusCode, headers }: IncomingMessage, type: string): boolean =>
  statusCode === 200 && (headers["content-type"] ?? "").startsWith(type)

/** An error of the target: a Connect error, or the HTTP status of a proxy in between. */
function replyOf({ statusCode = 0, headers }: IncomingMessage, body: Uint8Array): UpstreamReply {
  const code = statusCode === 200 ? Code.Unavailable : codeFromHttpStatus(statusCode)
  const fallback = new ConnectError(
    "the response does not match the contract",
    code === Code.Unknown ? Code.Unavailable : code,
  )
  if ((headers["content-type"] ?? "").startsWith("application/json")) {
    try {
      // The metadata is in the headers already.
      const error = errorFromJsonBytes(body, undefined, fallback)
      if (statusCode !== 200 && error.rawMessage !== "") return { ...splitHeaders(headers), error }
    } catch {}
  }
  return { headers: {}, trailers: new Headers(), error: toConnectError(fallback, () => undefined) }
}

/** Connect sends the trailers of a unary call as headers named `trailer-…`. */
function splitHeaders(all: IncomingHttpHeaders): { headers: OutgoingHttpHeaders; trailers: Headers } {
  const headers: OutgoingHttpHeaders = {}
  const trailers = new Headers()
  for (const [name, value] of Object.entries(answerHeaders(all))) {
    if (/^(content-|connect-|accept-|vary$)/.test(name)) continue
    if (name.startsWith("trailer-")) trailers.set(name.slice("trailer-".length), String(value))
    else headers[name] = value
  }
  return { headers, trailers }
}

function sendMessage(
  contentType: string,
  all: IncomingHttpHeaders,
  message: Uint8Array,
  response: ServerResponse,
): void {
  const { headers, trailers } = splitHeaders(all)
  response.writeHead(200, { ...headers, "content-type": contentType })
  response.addTrailers(Object.fromEntries(setTrailerStatus(trailers, undefined)))
  response.end(framed(message))
}

/** Sends the status: in trailers after messages, otherwise as a "Trailers-Only" header frame. */
function sendStatus(contentType: string, { headers, trailers, error }: UpstreamReply, response: ServerResponse): void {
  if (response.destroyed || response.writableEnded) return
  const status = Object.fromEntries(setTrailerStatus(trailers, error))
  if (response.headersSent) {
    response.addTrailers(status)
    response.end()
    return
  }
  for (const [name, value] of Object.entries({ ...headers, ...status, "content-type": contentType })) {
    if (value !== undefined) response.setHeader(name, value)
  }
  response.end()
}

async function passStream(
  context: GatewayContext,
  contentType: string,
  answer: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const { headers } = splitHeaders(answer.headers)
  response.writeHead(200, { ...headers, "content-type": contentType })
  // The caller learns at once that the stream is open.
  response.flushHeaders()
  for await (const { flags, data } of framesIn(answer, context.maxAnswerBytes)) {
    if (flags === endStreamFlag) {
      const { metadata, error } = endStreamFromJson(data)
      sendStatus(contentType, { headers: {}, trailers: metadata, error }, response)
      return
    }
    if (flags !== 0) throw new Refused("UNAVAILABLE", { cause: new Error("a frame has unknown flags") })
    // Backpressure: a slow caller slows the target.
    if (!response.write(framed(data))) await once(response, "drain", { signal })
  }
  throw new Refused("UNAVAILABLE", { cause: new Error("the stream ended without an end frame") })
}
