// Handles unary calls on Node's server and writes directly to its response.
import type { ServerResponse } from "node:http"
import type { ContextValues, MethodImplSpec } from "@connectrpc/connect"
import type { FastifyReply, FastifyRequest } from "fastify"
import type { ConnectHandlerOptions } from "../serving/connect-handlers.ts"
import { type UnaryAnswer, type UnaryRequest, unaryCall } from "../serving/unary-call.ts"
import { type Framing, framingOf } from "../serving/wire/unary-body.ts"
import { goneSignal } from "./gone-signal.ts"
import { readBody } from "./read-body.ts"
import { webHeaders } from "./web-headers.ts"

/** Answers a call, or returns false to leave it to Connect's handler. */
export type Fast = (request: FastifyRequest, reply: FastifyReply) => false | Promise<void>

export interface FastOptions extends ConnectHandlerOptions {
  readonly contextValues?: (request: FastifyRequest) => ContextValues
}

export function fastUnary(spec: MethodImplSpec, options: FastOptions): Fast {
  if (spec.kind !== "unary") return () => false
  const call = unaryCall(spec, options)
  return (request, reply) => {
    const asked = requestOf(request, reply, options, options.shutdownSignal)
    if (asked === undefined || asked.framing.protocol === "connect-stream") return false
    return call(asked).then((answer) => send(reply.raw, asked.framing, answer))
  }
}

/**
 * The request of a POST whose body has not been read; undefined for a form that only Connect's handlers answer.
 *
 * @param stopping Ends the call.
 */
export function requestOf(
  request: FastifyRequest,
  reply: FastifyReply,
  options: FastOptions,
  stopping: AbortSignal | undefined,
): UnaryRequest | undefined {
  const framing = framingOf(request.headers["content-type"] ?? "")
  if (request.method !== "POST" || framing === undefined) return undefined
  // gRPC trailers need HTTP/2.
  if (framing.protocol === "grpc" && request.raw.httpVersionMajor < 2) return undefined
  return {
    framing,
    url: `${request.protocol}://${request.host}${request.url}`,
    header: (name) => {
      const value = request.headers[name]
      return Array.isArray(value) ? value.join(", ") : value
    },
    headers: () => webHeaders(request.headers),
    gone: () => goneSignal(reply.raw, stopping),
    values: options.contextValues?.(request),
    readBody: (maxBytes) => readBody(request.raw, maxBytes),
  }
}

function send(response: ServerResponse, { protocol }: Framing, { status, headers, body, trailer }: UnaryAnswer): void {
  // The client has disconnected, or the call is already answered.
  if (response.headersSent || response.destroyed) return
  if (body === undefined) {
    // Trailers only: a single frame that ends the stream, which writeHead() would not produce.
    for (const [name, value] of Object.entries({ ...headers, ...trailer })) response.setHeader(name, value)
    response.end()
    return
  }
  response.writeHead(status, headers)
  if (protocol === "grpc") response.addTrailers(trailer)
  response.end(body)
}
