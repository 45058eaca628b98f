// Connect, gRPC-Web and REST for whatever has fetch's Request and Response, by the code that Node's server has them by.
import { Code, ConnectError, type ContextValues, createContextValues } from "@connectrpc/connect"
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol"
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc"
import { Refused } from "@signet/kernel/errors"
import { crossOrigin } from "../../../rest/cross-origin.ts"
import { refuseCall } from "../../../rest/refuse-call.ts"
import { restRoutes } from "../../../rest/rest.ts"
import { networkOf, truncateAddress } from "../../../rpc/address.ts"
import { kCall } from "../../../rpc/call.ts"
import type { Routes } from "../../../rpc/collect.ts"
import { type ConnectHandler, connectHandlers } from "../../../rpc/connect-handlers.ts"
import { refusalError } from "../../../rpc/errors.ts"
import { inTime, readinessMs } from "../../../rpc/in-time.ts"
import { type UnaryOptions, type UnaryRequest, unaryCall } from "../../../rpc/unary-call.ts"
import { framingOf } from "../../../rpc/wire/unary-body.ts"
import { restAnswer, unaryAnswer, universalAnswer } from "./answers.ts"
import { dropRest, readBody } from "./read-body.ts"
import { decodedPath, restRouter } from "./rest-router.ts"

export interface FrontOptions extends UnaryOptions {
  readonly routes: Routes
  /** Methods that have no REST form, no gate and no other interceptors than those: probes. */
  readonly open?: { readonly routes: Routes; readonly interceptors: UnaryOptions["interceptors"] }
  /** Whether pages of an origin may read the answers. */
  readonly isAllowedOrigin: (origin: string) => Promise<boolean>
  /** Asks what the service depends on; a failure, and an answer that takes two seconds, mean no. */
  readonly isReady: () => Promise<boolean>
  /** The client's address; null when it is not known. */
  readonly addressOf: (request: Request) => string | null
}

/** Answers a request; nothing that is thrown inside gets out. */
export type Front = (request: Request) => Promise<Response>

/** A request on its way: what every protocol needs of it. */
interface Arrived {
  readonly request: Request
  readonly id: string
  readonly url: URL
  readonly query: string
  readonly values: ContextValues
  readonly gone: AbortController
}

type Answer = (arrived: Arrived) => Promise<Response>

/** @throws Error when a rule cannot be served or two methods claim one route. */
export function createFront(options: FrontOptions): Front {
  const { open, onFault } = options
  const rpcs = new Map([
    ...rpcAnswers(options, options.routes),
    ...(open ? rpcAnswers({ onFault, interceptors: open.interceptors }, open.routes) : []),
  ])
  const restRoute = restRouter(restRoutes(options))

  async function route(arrived: Arrived): Promise<Response> {
    const { request, url } = arrived
    const path = decodedPath(url.pathname)
    const probe = request.method === "GET" ? probes[url.pathname] : undefined
    if (probe !== undefined) return probe(options)
    const rpc = rpcs.get(`${request.method} /${path.join("/")}`)
    if (rpc !== undefined) return rpc(arrived)
    const rest = restRoute(request.method, path)
    if (rest === undefined) throw new Refused("METHOD_UNKNOWN")
    const answer = await rest.answer({
      id: arrived.id,
      url: request.url,
      path: url.pathname,
      query: arrived.query,
      header: (name) => request.headers.get(name),
      headers: () => request.headers,
      gone: () => goneOf(arrived),
      values: arrived.values,
      readBody: (maxBytes) => readBody(request, maxBytes),
    })
    return restAnswer(answer)
  }

  return async (request) => {
    const arrived = arrivedOf(request, options.addressOf(request))
    const crossed = await crossOrigin(request.method, (name) => request.headers.get(name), options.isAllowedOrigin)
    const answer = crossed.isPreflight
      ? new Response(null, { status: 204 })
      : await route(arrived).catch((thrown: unknown) => failed(thrown, arrived, onFault))
    for (const [name, value] of Object.entries(crossed.headers)) answer.headers.set(name, value)
    await dropRest(request)
    return answer
  }
}

function arrivedOf(request: Request, address: string | null): Arrived {
  const id = crypto.randomUUID()
  const url = new URL(request.url)
  const call = {
    requestId: id,
    ipTruncated: address === null ? null : truncateAddress(address),
    network: address === null ? null : networkOf(address),
  }
  const values = createContextValues().set(kCall, call)
  return { request, id, url, query: url.search.slice(1), values, gone: new AbortController() }
}

/** Aborts when the caller goes away, before the answer or while it is on its way. */
function goneOf({ request, gone }: Arrived): AbortSignal {
  const leave = () => gone.abort(new ConnectError("the caller went away", Code.Canceled))
  if (request.signal.aborted) leave()
  else request.signal.addEventListener("abort", leave, { once: true })
  return gone.signal
}

function rpcAnswers(options: UnaryOptions, routes: Routes): Map<string, Answer> {
  const answers = connectHandlers({ ...options, routes }).flatMap((each) =>
    each.handler.allowedMethods.map((verb): [string, Answer] => [
      `${verb} ${each.handler.requestPath}`,
      rpcAnswer(options, each, verb),
    ]),
  )
  return new Map(answers)
}

function rpcAnswer(options: UnaryOptions, { spec, handler, isReadable, prepared }: ConnectHandler, verb: string) {
  const unary = spec.kind === "unary" && verb === "POST" ? unaryCall(spec, options) : undefined
  return async (arrived: Arrived): Promise<Response> => {
    const { request, query } = arrived
    const type = request.headers.get("content-type") ?? ""
    if (!isReadable(verb, type, query)) throw new Refused("UNSUPPORTED_MEDIA_TYPE")
    const framing = framingOf(type)
    // It ends with trailers, which there are none of here: a gateway speaks it and asks for gRPC-Web.
    if (framing?.protocol === "grpc") throw new Refused("UNSUPPORTED_MEDIA_TYPE")
    const body = (maxBytes: number) => readBody(request, maxBytes)
    if (unary !== undefined && framing !== undefined && framing.protocol !== "connect-stream") {
      return unaryAnswer(await unary(unaryRequest(arrived, framing, body)))
    }
    return universal(handler, prepared(universalRequest(arrived), body), arrived, options.onFault)
  }
}

function unaryRequest(
  arrived: Arrived,
  framing: UnaryRequest["framing"],
  readBody: UnaryRequest["readBody"],
): UnaryRequest {
  const { request, values } = arrived
  return {
    framing,
    url: request.url,
    header: (name) => request.headers.get(name) ?? undefined,
    headers: () => request.headers,
    gone: () => goneOf(arrived),
    values,
    readBody,
  }
}

function universalRequest(arrived: Arrived): UniversalServerRequest {
  const { request, values } = arrived
  return {
    httpVersion: "1.1",
    method: request.method,
    url: request.url,
    header: request.headers,
    // Read by its inlet alone.
    body: nothing(),
    signal: goneOf(arrived),
    contextValues: values,
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function universal(
  handler: UniversalHandler,
  request: UniversalServerRequest,
  { gone }: Arrived,
  onFault: (fault: unknown) => void,
): Promise<Response> {
  const left = () => gone.abort(new ConnectError("the caller went away", Code.Canceled))
  return universalAnswer(await handler(request), left, onFault)
}

/** What belongs to no method, and faults outside of all calls. */
async function failed(thrown: unknown, arrived: Arrived, onFault: (fault: unknown) => void): Promise<Response> {
  if (!(thrown instanceof Refused)) onFault(thrown)
  const refused = thrown instanceof Refused ? thrown : new Refused("INTERNAL")
  const { request, id, url } = arrived
  const contentType = request.headers.get("content-type") ?? ""
  // Its trailers alone may be headers (gRPC over HTTP/2, "Trailers-Only").
  if (framingOf(contentType)?.protocol === "grpc") return grpcRefusal(refused)
  const refusal = refuseCall(refused, { id, verb: request.method, path: url.pathname, contentType })
  if (typeof refusal !== "function") return restAnswer(refusal)
  return universal(refusal, universalRequest(arrived), arrived, onFault)
}

function grpcRefusal(refused: Refused): Response {
  const headers = new Headers({ "content-type": "application/grpc", "cache-control": "no-store" })
  setTrailerStatus(headers, refusalError(refused))
  return new Response(null, { status: 200, headers })
}

const probes: Readonly<Record<string, (options: FrontOptions) => Promise<Response>>> = {
  "/livez": async () => probed(200, "live"),
  "/readyz": async ({ isReady }) =>
    (await inTime(isReady, readinessMs)) ? probed(200, "ready") : probed(503, "not ready"),
}

const probed = (status: number, text: string): Response =>
  Response.json({ status: text }, { status, headers: { "cache-control": "no-store" } })
