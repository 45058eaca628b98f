// Serves HTTP/2 and native gRPC, which Workers cannot, in front of any server of the contract that speaks Connect. It
// knows only which methods stream and how long messages may be.
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { DescService } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { closeAfterResponse } from "../../../node/close-after-response.ts"
import { type ListenerOptions, listener } from "../../../node/listener.ts"
import { maxRequestBytes } from "../../../serving/wire/limits.ts"
import { framingOf } from "../../../serving/wire/unary-body.ts"
import { forward } from "./forward.ts"
import type { GatewayContext } from "./gateway-context.ts"
import { answerGrpc } from "./grpc.ts"
import { targetAt } from "./target.ts"

export interface GatewayOptions {
  /** The target, `http:` or `https:`. */
  readonly to: URL
  /** The services offered over gRPC. */
  readonly services: readonly DescService[]
  readonly listener?: ListenerOptions
  /** Lower-case names of headers to forward besides those of the contract. */
  readonly moreHeaders?: readonly string[]
  /** The timeout of a request's body, in milliseconds. */
  readonly bodyMs?: number
  /** The timeout of a unary call, in milliseconds; the target should have a shorter one. */
  readonly callMs?: number
  /** The longest answer of a unary call over gRPC, and the longest message of a stream, in bytes. */
  readonly maxAnswerBytes?: number
  /** How long calls may continue after close(), in milliseconds. */
  readonly drainMs?: number
  /** Called for faults, such as an unreachable target. */
  readonly onFault: (fault: unknown) => void
}

interface Gateway {
  readonly server: Server
  /** Ends streams at once, and unary calls after a delay. */
  close(): Promise<void>
}

const envelopeBytes = 5

/** A gateway that does not listen yet. */
export function createGateway(options: GatewayOptions): Gateway {
  const methods = new Map(
    options.services.flatMap((service) =>
      service.methods.map((method) => [`/${service.typeName}/${method.name}`, method] as const),
    ),
  )
  const closing = new AbortController()
  const shutdown = new AbortController()
  const target = targetAt(options.to)
  const inside: GatewayContext = {
    target,
    methods,
    moreHeaders: new Set(options.moreHeaders),
    maxBodyBytes: envelopeBytes + Math.max(...[...methods.values()].map(maxRequestBytes)),
    maxAnswerBytes: options.maxAnswerBytes ?? 32 * 1_048_576,
    bodyMs: options.bodyMs ?? 30_000,
    callMs: options.callMs ?? 60_000,
    closing: closing.signal,
    shutdown: shutdown.signal,
    onFault: options.onFault,
  }
  const server = listener((request, response) => {
    answer(inside, request, response).catch((fault: unknown) => {
      options.onFault(fault)
      response.destroy()
    })
  }, options.listener)
  return {
    server,
    async close() {
      const stops = new ConnectError("the gateway is shutting down", Code.Unavailable)
      const drained = setTimeout(() => shutdown.abort(stops), options.drainMs ?? 8_000)
      const closed = new Promise((resolve) => server.close(resolve))
      closing.abort(stops)
      await closed
      clearTimeout(drained)
      target.close()
    },
  }
}

async function answer(inside: GatewayContext, request: IncomingMessage, response: ServerResponse): Promise<void> {
  closeAfterResponse(request)
  // An unhandled error event of a connection would end the process.
  request.on("error", () => undefined)
  response.on("error", () => undefined)
  const framing = framingOf(request.headers["content-type"] ?? "")
  if (framing?.protocol !== "grpc" || request.method !== "POST") return forward(inside, request, response)
  if (request.httpVersionMajor < 2) {
    // Trailers need HTTP/2.
    response.writeHead(505).end()
    return
  }
  return answerGrpc(inside, framing.isJson, request, response)
}
