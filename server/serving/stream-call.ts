// Server streams of Connect and gRPC-Web without Connect's own implementation, for the Worker, which must be small. The
// answers equal those of Connect's handlers.
import { create, isMessage, type Message, toBinary, toJsonString } from "@bufbuild/protobuf"
import type { ConnectError, Interceptor, MethodImplSpec } from "@connectrpc/connect"
import { endStreamToJson } from "@connectrpc/connect/protocol-connect"
import { type CallContext, callContext } from "./call-context.ts"
import { toConnectError } from "./errors.ts"
import {
  enveloped,
  fieldsOf,
  grpcTrailer,
  type HeaderFields,
  type UnaryOptions,
  type UnaryRequest,
} from "./unary-call.ts"
import { maxRequestBytes } from "./wire/limits.ts"
import { parseTimeout } from "./wire/timeout.ts"
import { envelopeBytes, type Framing, readBodyMessage, refuseCompression } from "./wire/unary-body.ts"

type StreamSpec = MethodImplSpec & { kind: "server_streaming" }

export interface StreamAnswer {
  readonly headers: HeaderFields
  /** Each message in its frame, then the end frame. */
  readonly body: AsyncIterable<Uint8Array>
}

/** Answers calls of one method, starting with the first frame. An error becomes the end frame. */
export function streamCall(spec: StreamSpec, options: UnaryOptions): (request: UnaryRequest) => Promise<StreamAnswer> {
  const open = opener(spec, options.interceptors)
  return async (request) => {
    const call = new AbortController()
    const frames = framesOf(spec, options, open, request, call)
    // The handler may set headers until the first frame.
    const first = await frames.next()
    const headers = { ...first.value?.headers, "content-type": typeOf(request.framing) }
    return { headers, body: bytesOf(first, frames) }
  }
}

/** A refusal of a call to an unknown method, in the frame of its protocol. */
export function refusedStream(framing: Framing, error: ConnectError): { headers: HeaderFields; body: Uint8Array } {
  const { flags, bytes } = ending(framing, undefined, error)
  return { headers: { "content-type": typeOf(framing) }, body: enveloped(flags, bytes) }
}

const typeOf = ({ isJson, protocol }: Framing): string =>
  `application/${protocol === "connect-stream" ? "connect" : protocol}+${isJson ? "json" : "proto"}`

interface Frame {
  readonly bytes: Uint8Array
  readonly headers: HeaderFields
}

async function* bytesOf(first: IteratorResult<Frame>, frames: AsyncGenerator<Frame>): AsyncGenerator<Uint8Array> {
  try {
    if (first.done !== true) yield first.value.bytes
    for await (const { bytes } of frames) yield bytes
  } finally {
    // A caller that leaves ends the call, also before its second message.
    await frames.return(undefined)
  }
}

async function* framesOf(
  { method }: StreamSpec,
  options: UnaryOptions,
  open: Open,
  request: UnaryRequest,
  call: AbortController,
): AsyncGenerator<Frame> {
  const { framing, header } = request
  let context: CallContext | undefined
  let error: ConnectError | undefined
  const frame = (flags: number, bytes: Uint8Array): Frame => ({
    bytes: enveloped(flags, bytes),
    headers: fieldsOf(context?.writtenHeader),
  })
  try {
    const gone = () => AbortSignal.any([request.gone(), call.signal])
    const timeoutMs = parseTimeout(header)
    context = callContext({
      method,
      protocolName: framing.protocol === "connect-stream" ? "connect" : framing.protocol,
      requestMethod: "POST",
      url: request.url,
      requestHeader: request.headers,
      timeoutMs,
      gone,
      values: request.values,
    })
    await options.requestGate?.(context)
    refuseCompression(header)
    const message = readBodyMessage(method, framing, await request.readBody(maxRequestBytes(method) + envelopeBytes))
    for await (const output of await open(message, context)) {
      yield frame(
        0,
        framing.isJson ? utf8.encode(toJsonString(method.output, output)) : toBinary(method.output, output),
      )
    }
  } catch (thrown) {
    error = toConnectError(thrown, options.onFault)
  } finally {
    context?.close()
    call.abort()
  }
  const last = ending(framing, context, error)
  yield frame(last.flags, last.bytes)
}

const utf8 = new TextEncoder()

type Written = Pick<CallContext, "writtenTrailer"> | undefined

/** The frame with the outcome of a call. */
function ending({ protocol }: Framing, context: Written, error: ConnectError | undefined) {
  const trailer = new Headers(context?.writtenTrailer)
  if (protocol === "grpc-web") return { flags: 0x80, bytes: grpcTrailer(trailer, error) }
  return { flags: 2, bytes: utf8.encode(JSON.stringify(endStreamToJson(trailer, error, undefined))) }
}

type Open = (message: Message, context: CallContext) => Promise<AsyncIterable<Message>>

/** The method behind its interceptors, composed once. */
function opener({ method, impl }: StreamSpec, interceptors: readonly Interceptor[]): Open {
  return async (message, context) => {
    const handle: ReturnType<Interceptor> = async (req) => {
      if (!req.stream) throw new Error(`${method.name} is a stream`)
      return {
        stream: true,
        service: method.parent,
        method,
        message: outputs(method.output, impl(await only(req.message), context)),
        get header() {
          return context.responseHeader
        },
        get trailer() {
          return context.responseTrailer
        },
      }
    }
    const call = interceptors.reduceRight((next, interceptor) => interceptor(next), handle)
    const answer = await call({
      stream: true,
      service: method.parent,
      method,
      requestMethod: context.requestMethod,
      message: once(message),
      contextValues: context.values,
      url: context.url,
      signal: context.signal,
      header: context.requestHeader,
    })
    if (!answer.stream) throw new Error(`${method.name} did not answer with a stream`)
    return answer.message
  }
}

async function* once(message: Message): AsyncGenerator<Message> {
  yield message
}

async function only(messages: AsyncIterable<Message>): Promise<Message> {
  let found: Message | undefined
  for await (const message of messages) found ??= message
  if (found === undefined) throw new Error("an interceptor took the request away")
  return found
}

async function* outputs(
  desc: StreamSpec["method"]["output"],
  answers: ReturnType<StreamSpec["impl"]>,
): AsyncGenerator<Message> {
  for await (const answer of answers) yield isMessage(answer) ? answer : create(desc, answer)
}
