// Unary calls of Connect, gRPC and gRPC-Web without Connect's streams, header objects and abort controllers that nobody
// looks at: the message is read once, and the chain is the same. Streams, GET and all else stay with Connect.
import type { OutgoingHttpHeaders, ServerResponse } from "node:http"
import { type Message, toBinary, toJsonString } from "@bufbuild/protobuf"
import type { ConnectError, MethodImplSpec } from "@connectrpc/connect"
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect"
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc"
import type { FastifyReply, FastifyRequest } from "fastify"
import { type CallContext, callContext } from "../rpc/call-context.ts"
import { toldError } from "../rpc/errors.ts"
import { type Invoke, invoker } from "../rpc/invoker.ts"
import { maxRequestBytes } from "../rpc/wire/limits.ts"
import { parseTimeout } from "../rpc/wire/timeout.ts"
import { envelopeBytes, type Framing, framingOf, readBodyMessage, refuseCompression } from "../rpc/wire/unary-body.ts"
import { goneSignal } from "./gone-signal.ts"
import { readBody } from "./read-body.ts"
import type { RpcPluginOptions } from "./rpc-plugin.ts"
import { webHeaders } from "./web-headers.ts"

/** Answers a call, or leaves it to Connect's handler and returns false. */
export type FastUnary = (request: FastifyRequest, reply: FastifyReply) => false | Promise<void>

export function fastUnary(spec: MethodImplSpec, options: RpcPluginOptions): FastUnary {
  if (spec.kind !== "unary") return () => false
  const invoke = invoker(spec, options.interceptors)
  return (request, reply) => {
    const framing = framingOf(request.headers["content-type"] ?? "")
    if (request.method !== "POST" || framing === undefined) return false
    // Trailers need HTTP/2.
    if (framing.protocol === "connect-stream" || (framing.protocol === "grpc" && request.raw.httpVersionMajor < 2)) {
      return false
    }
    return answer(spec, invoke, framing, options, request, reply)
  }
}

async function answer(
  { method }: MethodImplSpec,
  invoke: Invoke,
  framing: Framing,
  options: RpcPluginOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  let context: CallContext | undefined
  const header = (name: string) => {
    const value = request.headers[name]
    return Array.isArray(value) ? value.join(", ") : value
  }
  try {
    context = callContext({
      method,
      protocolName: framing.protocol,
      requestMethod: "POST",
      url: `${request.protocol}://${request.host}${request.url}`,
      requestHeader: () => webHeaders(request.headers),
      timeoutMs: parseTimeout(header),
      gone: () => goneSignal(reply.raw, options.shutdownSignal),
      values: options.contextValues?.(request),
    })
    await options.requestGate?.(context)
    refuseCompression(header)
    const limit = maxRequestBytes(method) + (framing.isEnveloped ? envelopeBytes : 0)
    const message = readBodyMessage(method, framing, await readBody(request.raw, limit))
    const output = await invoke(message, context)
    send(reply.raw, framing, context, serialized(method.output, output, framing), undefined)
  } catch (thrown) {
    send(reply.raw, framing, context, undefined, toldError(thrown, options.onFault))
  } finally {
    context?.close()
  }
}

function serialized(desc: MethodImplSpec["method"]["output"], message: Message, { isJson }: Framing): Uint8Array {
  return isJson ? Buffer.from(toJsonString(desc, message)) : toBinary(desc, message)
}

function send(
  response: ServerResponse,
  framing: Framing,
  context: CallContext | undefined,
  body: Uint8Array | undefined,
  error: ConnectError | undefined,
): void {
  // The caller has gone, or nobody may be told twice.
  if (response.headersSent || response.destroyed) return
  const headers = nodeHeaders(context?.writtenHeader)
  if (framing.protocol === "connect") sendConnect(response, framing, headers, context, body, error)
  else sendGrpc(response, framing, headers, context, body, error)
}

function sendConnect(
  response: ServerResponse,
  { isJson }: Framing,
  headers: OutgoingHttpHeaders,
  context: CallContext | undefined,
  body: Uint8Array | undefined,
  error: ConnectError | undefined,
): void {
  Object.assign(headers, nodeHeaders(context?.writtenTrailer, "trailer-"), nodeHeaders(error?.metadata))
  const bytes = error ? errorToJsonBytes(error, undefined) : (body ?? new Uint8Array())
  headers["content-type"] = error || isJson ? "application/json" : "application/proto"
  headers["content-length"] = bytes.length
  response.writeHead(error ? codeToHttpStatus(error.code) : 200, headers).end(bytes)
}

function sendGrpc(
  response: ServerResponse,
  { protocol, isJson }: Framing,
  headers: OutgoingHttpHeaders,
  context: CallContext | undefined,
  body: Uint8Array | undefined,
  error: ConnectError | undefined,
): void {
  const trailer = new Headers(context?.writtenTrailer)
  setTrailerStatus(trailer, error)
  headers["content-type"] = `application/${protocol}+${isJson ? "json" : "proto"}`
  if (protocol === "grpc") {
    if (body === undefined) {
      // Trailers only: one frame that ends the stream, which writeHead() would not make.
      for (const [name, value] of Object.entries({ ...headers, ...nodeHeaders(trailer) })) {
        if (value !== undefined) response.setHeader(name, value)
      }
      response.end()
      return
    }
    response.writeHead(200, headers)
    response.addTrailers(textHeaders(trailer))
    response.end(enveloped(0, body))
    return
  }
  const lines = Object.entries(textHeaders(trailer)).map(([name, value]) => `${name}: ${value}\r\n`)
  const last = enveloped(0x80, Buffer.from(lines.join("")))
  response.writeHead(200, headers).end(body ? Buffer.concat([enveloped(0, body), last]) : last)
}

function enveloped(flags: number, message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(envelopeBytes + message.length)
  frame.writeUInt8(flags)
  frame.writeUInt32BE(message.length, 1)
  frame.set(message, envelopeBytes)
  return frame
}

function nodeHeaders(headers: Headers | undefined, prefix = ""): OutgoingHttpHeaders {
  const out: OutgoingHttpHeaders = {}
  headers?.forEach((value, name) => {
    out[prefix + name] = name === "set-cookie" ? headers.getSetCookie() : value
  })
  return out
}

const textHeaders = (headers: Headers): Record<string, string> => Object.fromEntries(headers)
