// Connect, gRPC and gRPC-Web by Connect's own handlers, with our own reading of requests: the body is read after the
// gate, up to the method's limit, and Connect gets it after it was checked.
import {
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
  type MethodImplSpec,
} from "@connectrpc/connect"
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol"
import { Refused } from "@signet/kernel/errors"
import { longestTimerMs } from "./call-context.ts"
import { collectMethods, type Routes } from "./collect.ts"
import { toConnectError } from "./errors.ts"
import { maxRequestBytes } from "./wire/limits.ts"
import { parseTimeout } from "./wire/timeout.ts"
import { checkQuery, envelopeBytes, framingOf, readBodyMessage, refuseCompression } from "./wire/unary-body.ts"

export interface ConnectHandlerOptions {
  readonly routes: Routes
  /** The first one is the outermost. */
  readonly interceptors: readonly Interceptor[]
  /** Runs when the headers have arrived, before the body is read. */
  readonly requestGate?: ((context: HandlerContext) => void | Promise<void>) | undefined
  /** Called for faults outside of the interceptors. */
  readonly onFault: (fault: unknown) => void
  /** Aborts the unary calls that are still running. */
  readonly shutdownSignal?: AbortSignal
  /** Ends the streams, which would otherwise never end. */
  readonly closingSignal?: AbortSignal
}

export interface ConnectHandler {
  readonly spec: MethodImplSpec
  readonly handler: UniversalHandler
  /** True if the method accepts this form of message. Connect's own refusal would have no reason. */
  readonly isReadable: (verb: string, contentType: string, query: string) => boolean
  /**
   * Prepares a request for `handler`.
   *
   * @param readBody Reads the body, and refuses a longer one. Called at most once.
   */
  readonly prepared: (
    request: UniversalServerRequest,
    readBody: (maxBytes: number) => Promise<Uint8Array>,
  ) => UniversalServerRequest
}

/** Reads and checks the body of the context's call. */
const kInlet = createContextKey<() => Promise<void>>(() => Promise.resolve(), { description: "request body" })

export function connectHandlers(options: ConnectHandlerOptions): ConnectHandler[] {
  const router = createConnectRouter({
    interceptors: [...options.interceptors],
    requestGate: async (context) => {
      try {
        await options.requestGate?.(context)
        await context.values.get(kInlet)()
      } catch (thrown) {
        throw toConnectError(thrown, options.onFault)
      }
    },
    acceptCompression: [],
    binaryOptions: { readUnknownFields: false },
  })
  const specs = collectMethods(options.routes)
  for (const spec of specs) {
    const signal = spec.kind === "unary" ? options.shutdownSignal : options.closingSignal
    router.rpc(spec.method, spec.impl, {
      readMaxBytes: maxRequestBytes(spec.method),
      ...(signal ? { shutdownSignal: signal } : {}),
    })
  }
  return specs.flatMap((spec, index) => {
    const handler = router.handlers[index]
    if (handler === undefined) return []
    return [
      {
        spec,
        handler,
        isReadable: (verb, type, query) =>
          verb === "GET"
            ? /(^|&)encoding=(json|proto)(&|$)/.test(query)
            : framingOf(type) !== undefined && handler.supportedContentType(type),
        prepared: (request, readBody) => prepared(spec, request, readBody),
      },
    ]
  })
}

function prepared(
  { kind, method }: MethodImplSpec,
  request: UniversalServerRequest,
  readBody: (maxBytes: number) => Promise<Uint8Array>,
): UniversalServerRequest {
  const values = request.contextValues ?? createContextValues()
  const maxBytes = maxRequestBytes(method)
  // A copy: a fetch handler's headers are immutable.
  const headers = new Headers(request.header)
  // The original headers: an excessive deadline is shortened, not refused.
  const header = (name: string) => request.header.get(name) ?? undefined
  shortenTimeout(headers)
  const universal: UniversalServerRequest = { ...request, header: headers, contextValues: values }
  if (request.method === "GET") {
    values.set(kInlet, async () => {
      parseTimeout(header)
      checkQuery(method, new URL(request.url).searchParams, maxBytes)
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
    body = await readBody(maxBytes + (framing.isEnveloped ? envelopeBytes : 0))
    readBodyMessage(method, framing, body)
  })
  return { ...universal, body: inOneChunk(() => body) }
}

/** Connect passes a deadline to a timer unchanged, and a timer of more than 24 days fires at once. */
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
