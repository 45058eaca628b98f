// Unary calls of Connect, gRPC and gRPC-Web without Connect's streams, header objects and unused abort controllers: the
// message is read once, and the interceptors are the same. Connect serves GET and the rest.
import { type Message, toBinary, toJsonString } from "@bufbuild/protobuf"
import type { ConnectError, ContextValues, HandlerContext, Interceptor } from "@connectrpc/connect"
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect"
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc"
import { type CallContext, callContext } from "./call-context.ts"
import { toConnectError } from "./errors.ts"
import { invoker, type UnarySpec } from "./invoker.ts"
import { maxRequestBytes } from "./wire/limits.ts"
import { parseTimeout } from "./wire/timeout.ts"
import { envelopeBytes, type Framing, readBodyMessage, refuseCompression } from "./wire/unary-body.ts"

export interface UnaryOptions {
  readonly interceptors: readonly Interceptor[]
  /** Runs when the headers have arrived, before the body is read. */
  readonly requestGate?: ((context: HandlerContext) => void | Promise<void>) | undefined
  /** Called for faults outside of the interceptors. */
  readonly onFault: (fault: unknown) => void
}

/** A request whose headers have arrived, independent of the server. */
export interface UnaryRequest {
  /** POST by default. The message of a Connect GET is in the URL, and `readBody` returns it. */
  readonly verb?: "GET" | "POST"
  readonly framing: Framing
  readonly url: string
  readonly header: (name: string) => string | undefined
  readonly headers: () => Headers
  /** Aborts when the caller disconnects or the server stops. */
  readonly gone: () => AbortSignal
  readonly values: ContextValues | undefined
  /** Reads the body, and refuses a longer one. Called at most once. */
  readonly readBody: (maxBytes: number) => Promise<Uint8Array>
}

export type HeaderFields = Record<string, string | string[]>

export interface UnaryAnswer {
  readonly status: number
  readonly headers: HeaderFields
  /** Undefined for a gRPC answer without a message, whose status is in the headers. */
  readonly body: Uint8Array<ArrayBuffer> | undefined
  /** The trailers of gRPC over HTTP/2; the other protocols have them in the body and headers. */
  readonly trailer: HeaderFields
}

/** Answers calls of one method; a thrown value becomes an answer too. */
export function unaryCall(spec: UnarySpec, options: UnaryOptions): (request: UnaryRequest) => Promise<UnaryAnswer> {
  const { method } = spec
  const invoke = invoker(spec, options.interceptors)
  return async (request) => {
    const { framing, header } = request
    let context: CallContext | undefined
    try {
      context = callContext({
        method,
        protocolName: framing.protocol,
        requestMethod: request.verb ?? "POST",
        url: request.url,
        requestHeader: request.headers,
        timeoutMs: parseTimeout(header),
        gone: request.gone,
        values: request.values,
      })
      await options.requestGate?.(context)
      refuseCompression(header)
      const limit = maxRequestBytes(method) + (framing.isEnveloped ? envelopeBytes : 0)
      const message = readBodyMessage(method, framing, await request.readBody(limit))
      const output = await invoke(message, context)
      return answerOf(framing, context, serialized(method.output, output, framing), undefined)
    } catch (thrown) {
      return answerOf(framing, context, undefined, toConnectError(thrown, options.onFault))
    } finally {
      context?.close()
    }
  }
}

const utf8 = new TextEncoder()
// A copy, because the encoder's type does not name its buffer on every platform.
const encoded = (text: string) => new Uint8Array(utf8.encode(text))

const serialized = (desc: UnarySpec["method"]["output"], message: Message, { isJson }: Framing) =>
  isJson ? encoded(toJsonString(desc, message)) : toBinary(desc, message)

type Written = Pick<CallContext, "writtenHeader" | "writtenTrailer"> | undefined
type Body = Uint8Array<ArrayBuffer> | undefined

function answerOf(framing: Framing, written: Written, body: Body, error: ConnectError | undefined): UnaryAnswer {
  const headers = fieldsOf(written?.writtenHeader)
  return framing.protocol === "connect"
    ? connectAnswer(framing, headers, written, body, error)
    : grpcAnswer(framing, headers, written, body, error)
}

function connectAnswer(
  { isJson }: Framing,
  headers: HeaderFields,
  written: Written,
  message: Body,
  error: ConnectError | undefined,
): UnaryAnswer {
  Object.assign(headers, fieldsOf(written?.writtenTrailer, "trailer-"), fieldsOf(error?.metadata))
  const body = error ? Uint8Array.from(errorToJsonBytes(error, undefined)) : (message ?? new Uint8Array())
  headers["content-type"] = error || isJson ? "application/json" : "application/proto"
  headers["content-length"] = String(body.length)
  return { status: error ? codeToHttpStatus(error.code) : 200, headers, body, trailer: {} }
}

function grpcAnswer(
  { protocol, isJson }: Framing,
  headers: HeaderFields,
  written: Written,
  message: Body,
  error: ConnectError | undefined,
): UnaryAnswer {
  const fields = new Headers(written?.writtenTrailer)
  headers["content-type"] = `application/${protocol}+${isJson ? "json" : "proto"}`
  const framed = message && enveloped(0, message)
  if (protocol === "grpc") {
    setTrailerStatus(fields, error)
    return { status: 200, headers, body: framed, trailer: Object.fromEntries(fields) }
  }
  const last = enveloped(0x80, grpcTrailer(fields, error))
  return { status: 200, headers, body: framed ? joined(framed, last) : last, trailer: {} }
}

/** The trailer frame of gRPC-Web, with the status, as text. */
export function grpcTrailer(fields: Headers, error: ConnectError | undefined): Uint8Array<ArrayBuffer> {
  setTrailerStatus(fields, error)
  return encoded(Array.from(fields, ([name, value]) => `${name}: ${value}\r\n`).join(""))
}

export function enveloped(flags: number, message: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(envelopeBytes + message.length)
  frame[0] = flags
  new DataView(frame.buffer).setUint32(1, message.length)
  frame.set(message, envelopeBytes)
  return frame
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}

export function fieldsOf(headers: Headers | undefined, prefix = ""): HeaderFields {
  const out: HeaderFields = {}
  headers?.forEach((value, name) => {
    out[prefix + name] = name === "set-cookie" ? headers.getSetCookie() : value
  })
  return out
}
