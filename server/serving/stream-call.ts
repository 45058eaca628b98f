// Server streams of Connect, gRPC and gRPC-Web without Connect's own implementation, whose chain of iterators costs more
// than the rest of a message. The answers equal those of Connect's handlers.
import { create, isMessage, type Message, toBinary, toJsonString } from "@bufbuild/protobuf"
import type { ConnectError, Interceptor, MethodImplSpec } from "@connectrpc/connect"
import { endStreamToJson } from "@connectrpc/connect/protocol-connect"
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc"
import { type CallContext, callContext } from "./call-context.ts"
import { kDirectWrite } from "./direct-write.ts"
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
  /** Each message in its frame, then the frame with the outcome; gRPC has the outcome in the trailers. */
  readonly body: AsyncIterable<Uint8Array>
  /** The trailers of gRPC, once the body has ended. */
  readonly trailer: () => HeaderFields
  /**
   * Gives the stream a function that writes a frame at once. It is called after the first frame of the body and before the
   * last one.
   *
   * @param write Returns false if it did not write the frame, because the reader is slow or has left.
   */
  readonly attach: (write: FrameWrite) => void
}

type FrameWrite = (frame: Uint8Array) => boolean

/** Answers calls of one method, starting with the first frame. An error becomes the outcome. */
export function streamCall(spec: StreamSpec, options: UnaryOptions): (request: UnaryRequest) => Promise<StreamAnswer> {
  const open = opener(spec, options.interceptors)
  const frameOf = framesOfShared(spec)
  return async (request) => {
    const call: OpenCall = { aborting: new AbortController(), context: undefined, trailer: {}, write: undefined }
    const frames = framesOf(spec, options, open, frameOf, request, call)
    // The handler may set headers until the first frame.
    const first = await frames.next()
    const headers = { ...fieldsOf(call.context?.writtenHeader), "content-type": typeOf(request.framing) }
    const attach = (write: FrameWrite) => {
      if (first.done !== true) call.write = write
    }
    return { headers, body: bytesOf(first, frames), trailer: () => call.trailer, attach }
  }
}

/** A refusal of a call to an unknown method, in the frame of its protocol. */
export function refusedStream(framing: Framing, error: ConnectError): { headers: HeaderFields; body: Uint8Array } {
  return { headers: { "content-type": typeOf(framing) }, body: lastFrame(framing, new Headers(), error) }
}

const typeOf = ({ isJson, protocol }: Framing): string =>
  `application/${protocol === "connect-stream" ? "connect" : protocol}+${isJson ? "json" : "proto"}`

interface OpenCall {
  /** Ends the method when the caller has left. */
  readonly aborting: AbortController
  context: CallContext | undefined
  trailer: HeaderFields
  /** Set while the stream is between its first and its last frame. */
  write: FrameWrite | undefined
}

type Frames = AsyncGenerator<Uint8Array, undefined>

/** The first frame, which was taken already, and the others. */
function bytesOf(first: IteratorResult<Uint8Array>, frames: Frames): AsyncIterable<Uint8Array> {
  let isFirst = true
  const next = async () => {
    if (!isFirst) return frames.next()
    isFirst = false
    return first
  }
  // A caller that leaves ends the call, also before its second message.
  return { [Symbol.asyncIterator]: () => ({ next, return: () => frames.return(undefined) }) }
}

async function* framesOf(
  { method }: StreamSpec,
  options: UnaryOptions,
  open: Open,
  frameOf: FrameOf,
  request: UnaryRequest,
  call: OpenCall,
): Frames {
  const { framing, header } = request
  let error: ConnectError | undefined
  try {
    call.context = callContext({
      method,
      protocolName: framing.protocol === "connect-stream" ? "connect" : framing.protocol,
      requestMethod: "POST",
      url: request.url,
      requestHeader: request.headers,
      timeoutMs: parseTimeout(header),
      gone: () => follow(request.gone(), call.aborting),
      values: request.values,
    })
    call.context.values.set(kDirectWrite, {
      get isOpen() {
        return call.write !== undefined
      },
      write: (message) => call.write?.(frameOf(framing, message)) ?? false,
    })
    await options.requestGate?.(call.context)
    refuseCompression(header)
    const message = readBodyMessage(method, framing, await request.readBody(maxRequestBytes(method) + envelopeBytes))
    for await (const output of await open(message, call.context)) {
      yield frame(method, framing, output)
    }
  } catch (thrown) {
    error = toConnectError(thrown, options.onFault)
  } finally {
    call.write = undefined
    call.context?.close()
    call.aborting.abort()
  }
  const trailer = new Headers(call.context?.writtenTrailer)
  if (framing.protocol !== "grpc") yield lastFrame(framing, trailer, error)
  else {
    setTrailerStatus(trailer, error)
    call.trailer = fieldsOf(trailer)
  }
  return undefined
}

const utf8 = new TextEncoder()

const frame = ({ output }: StreamSpec["method"], { isJson }: Framing, message: Message): Uint8Array =>
  enveloped(0, isJson ? utf8.encode(toJsonString(output, message)) : toBinary(output, message))

type FrameOf = (framing: Framing, message: Message) => Uint8Array

/** Makes frames. A message that goes to many streams is encoded once, but for JSON. */
function framesOfShared({ method }: StreamSpec): FrameOf {
  const known = new WeakMap<Message, Uint8Array>()
  return (framing, message) => {
    const found = framing.isJson ? undefined : known.get(message)
    if (found !== undefined) return found
    const made = frame(method, framing, message)
    if (!framing.isJson) known.set(message, made)
    return made
  }
}

/** The controller's signal, which aborts with another one. `AbortSignal.any` needs more memory for each stream. */
function follow(gone: AbortSignal, aborting: AbortController): AbortSignal {
  if (gone.aborted) aborting.abort(gone.reason)
  else gone.addEventListener("abort", () => aborting.abort(gone.reason), { once: true })
  return aborting.signal
}

/** The frame with the outcome of a call. */
function lastFrame({ protocol }: Framing, trailer: Headers, error: ConnectError | undefined): Uint8Array {
  if (protocol === "grpc-web") return enveloped(0x80, grpcTrailer(trailer, error))
  return enveloped(2, utf8.encode(JSON.stringify(endStreamToJson(trailer, error, undefined))))
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
