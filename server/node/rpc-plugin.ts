// Connect, gRPC and gRPC-Web by Connect's own handlers, with our own reading of what arrives: a body is read after the
// gate, by the method's own limit, and Connect sees it when it has been found in order.
import type { IncomingMessage } from "node:http"
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ContextValues,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
  type MethodImplSpec,
} from "@connectrpc/connect"
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol"
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node"
import { Refused } from "@signet/kernel/errors"
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from "fastify"
import { longestTimerMs } from "../rpc/call-context.ts"
import { collectMethods, type Routes } from "../rpc/collect.ts"
import { toldError } from "../rpc/errors.ts"
import { maxRequestBytes } from "../rpc/wire/limits.ts"
import { parseTimeout } from "../rpc/wire/timeout.ts"
import { checkQuery, envelopeBytes, framingOf, readBodyMessage, refuseCompression } from "../rpc/wire/unary-body.ts"
import { fastUnary } from "./fast-unary.ts"
import { readBody } from "./read-body.ts"
import { refuseCall } from "./refuse-call.ts"

export interface RpcPluginOptions {
  readonly routes: Routes
  /** The first is the outermost. */
  readonly interceptors: readonly Interceptor[]
  /** Runs when the headers have arrived and before the body is read. */
  readonly requestGate?: ((context: HandlerContext) => void | Promise<void>) | undefined
  readonly contextValues?: (request: FastifyRequest) => ContextValues
  /** Hears of faults outside of the interceptors. */
  readonly onFault: (fault: unknown) => void
  /** Aborts the unary calls that are still running. */
  readonly shutdownSignal?: AbortSignal
  /** Ends the streams, which would go on for ever. */
  readonly closingSignal?: AbortSignal
  /** Whose code takes unary calls: ours unless told otherwise. Both give the same answers. */
  readonly unary?: "ours" | "connect"
}

/** Reads and checks the body of the call that the context belongs to. */
const kInlet = createContextKey<() => Promise<void>>(() => Promise.resolve(), { description: "request body" })

/** Serves the methods over Connect, gRPC and gRPC-Web. */
export const rpcPlugin: FastifyPluginCallback<RpcPluginOptions> = (app, options, done) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null))
  for (const { spec, handler } of handlersOf(options)) {
    const fast = options.unary === "connect" ? undefined : fastUnary(spec, options)
    app.route({
      method: handler.allowedMethods,
      url: handler.requestPath,
      exposeHeadRoute: false,
      handler: async (request, reply) => {
        if (!isReadable(request, handler)) {
          return refuseCall(new Refused("UNSUPPORTED_MEDIA_TYPE"), request, reply)
        }
        takeOver(reply)
        try {
          await (fast?.(request, reply) || serve(options, spec, handler, request, reply))
        } catch (thrown) {
          const isGone = thrown instanceof ConnectError && [Code.Aborted, Code.Canceled].includes(thrown.code)
          if (!isGone) options.onFault(thrown)
          reply.raw.destroy()
        }
      },
    })
  }
  done()
}

function handlersOf(options: RpcPluginOptions): { spec: MethodImplSpec; handler: UniversalHandler }[] {
  const router = createConnectRouter({
    interceptors: [...options.interceptors],
    requestGate: async (context) => {
      try {
        await options.requestGate?.(context)
        await context.values.get(kInlet)()
      } catch (thrown) {
        throw toldError(thrown, options.onFault)
      }
    },
    acceptCompression: [],
    binaryOptions: { readUnknownFields: false },
  })
  const specs = collectMethods(options.routes)
  for (const spec of specs) register(router, spec, options)
  return specs.flatMap((spec, index) => {
    const handler = router.handlers[index]
    return handler === undefined ? [] : [{ spec, handler }]
  })
}

function register(router: ConnectRouter, spec: MethodImplSpec, options: RpcPluginOptions): void {
  const signal = spec.kind === "unary" ? options.shutdownSignal : options.closingSignal
  router.rpc(spec.method, spec.impl, {
    readMaxBytes: maxRequestBytes(spec.method),
    ...(signal ? { shutdownSignal: signal } : {}),
  })
}

/** Whether a message is in a form that the method takes; Connect's own answer to one that is not has no reason. */
function isReadable({ method, headers, url }: FastifyRequest, handler: UniversalHandler): boolean {
  if (method === "GET") return /[?&]encoding=(json|proto)(&|$)/.test(url)
  const type = headers["content-type"] ?? ""
  return framingOf(type) !== undefined && handler.supportedContentType(type)
}

async function serve(
  options: RpcPluginOptions,
  spec: MethodImplSpec,
  handler: UniversalHandler,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const response = await handler(universalRequest(options, spec, request, reply))
  await universalResponseToNodeResponse(response, reply.raw)
}

/** From here on the answer is written past Fastify; what its hooks have set, such as CORS, is kept. */
function takeOver(reply: FastifyReply): void {
  reply.hijack()
  reply.raw.setHeader("cache-control", "no-store")
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value)
  }
}

function universalRequest(
  options: RpcPluginOptions,
  { kind, method }: MethodImplSpec,
  request: FastifyRequest,
  reply: FastifyReply,
): UniversalServerRequest {
  const values = options.contextValues?.(request) ?? createContextValues()
  const universal = universalRequestFromNodeRequest(request.raw, reply.raw, undefined, values)
  const maxBytes = maxRequestBytes(method)
  const header = (name: string) => headerOf(request.raw, name)
  shortenTimeout(universal.header)
  if (request.method === "GET") {
    values.set(kInlet, async () => {
      parseTimeout(header)
      checkQuery(method, new URL(universal.url).searchParams, maxBytes)
    })
    return universal
  }
  if (kind !== "unary" && kind !== "server_streaming") {
    values.set(kInlet, async () => {
      refuseCompression(header)
      parseTimeout(header)
    })
    return universal
  }
  let body: Uint8Array | undefined
  values.set(kInlet, async () => {
    refuseCompression(header)
    parseTimeout(header)
    const framing = framingOf(header("content-type") ?? "")
    if (framing === undefined) throw new Refused("UNSUPPORTED_MEDIA_TYPE")
    body = await readBody(request.raw, maxBytes + (framing.isEnveloped ? envelopeBytes : 0))
    readBodyMessage(method, framing, body)
  })
  return { ...universal, body: inOneChunk(() => body) }
}

/** Connect gives a deadline to a timer as it is, and a timer of more than 24 days runs out at once. */
function shortenTimeout(headers: Headers): void {
  const connect = headers.get("connect-timeout-ms")
  if (connect !== null && /^\d{10}$/.test(connect) && Number(connect) > longestTimerMs) {
    headers.set("connect-timeout-ms", String(longestTimerMs))
  }
  const longest: Record<string, number> = {
    H: longestTimerMs / 3_600_000,
    M: longestTimerMs / 60_000,
    S: longestTimerMs / 1_000,
  }
  const [, amount, unit = ""] = /^(\d{1,8})([HMS])$/.exec(headers.get("grpc-timeout") ?? "") ?? []
  const most = Math.floor(longest[unit] ?? Infinity)
  if (Number(amount) > most) headers.set("grpc-timeout", `${most}${unit}`)
}

async function* inOneChunk(body: () => Uint8Array | undefined): AsyncGenerator<Uint8Array> {
  const bytes = body()
  if (bytes !== undefined) yield bytes
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(", ") : value
}
