// Serves Connect, gRPC-Web and REST with fetch's Request and Response, by the code of the Node server.
import { Refused } from "@signet/kernel/errors"
import type { Routes } from "../../../serving/collect.ts"
import { inTime, readinessMs } from "../../../serving/in-time.ts"
import { crossOrigin } from "../../../serving/rest/cross-origin.ts"
import { envelopeOf, refuseCall } from "../../../serving/rest/refuse-call.ts"
import { restRoutes } from "../../../serving/rest/rest.ts"
import type { UnaryOptions } from "../../../serving/unary-call.ts"
import { restAnswer } from "./answers.ts"
import { type Arrived, arrivedOf } from "./arrived.ts"
import { dropRest, readBody } from "./read-body.ts"
import { decodedPath, restRouter } from "./rest-router.ts"
import { refusedAnswer, rpcAnswers } from "./rpc.ts"

interface FrontOptions extends UnaryOptions {
  readonly routes: Routes
  /** Methods without REST form and gate, and with their own interceptors: probes. */
  readonly open?: { readonly routes: Routes; readonly interceptors: UnaryOptions["interceptors"] }
  /** True if pages of the origin may read the answers. */
  readonly isAllowedOrigin: (origin: string) => Promise<boolean>
  /** Checks the service's dependencies. A failure, or an answer after more than two seconds, counts as false. */
  readonly isReady: () => Promise<boolean>
}

/** Answers a request. Never throws. */
export type Front = (request: Request) => Promise<Response>

/** @throws Error for an unsupported rule, and for two methods with the same route. */
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
      query: url.search.slice(1),
      header: (name) => request.headers.get(name),
      headers: () => request.headers,
      gone: arrived.gone,
      values: arrived.values,
      readBody: (maxBytes) => readBody(request, maxBytes),
    })
    return restAnswer(answer)
  }

  return async (request) => {
    const arrived = arrivedOf(request)
    const crossed = await crossOrigin(request.method, (name) => request.headers.get(name), options.isAllowedOrigin)
    const answer = crossed.isPreflight
      ? new Response(null, { status: 204 })
      : await route(arrived).catch((thrown: unknown) => failed(thrown, arrived, onFault))
    for (const [name, value] of Object.entries(crossed.headers)) answer.headers.set(name, value)
    await dropRest(request)
    return answer
  }
}

/** The answer to an unknown method, and to a fault outside of all calls. */
function failed(thrown: unknown, { request, id, url }: Arrived, onFault: (fault: unknown) => void): Response {
  if (!(thrown instanceof Refused)) onFault(thrown)
  const refused = thrown instanceof Refused ? thrown : new Refused("INTERNAL")
  const contentType = request.headers.get("content-type") ?? ""
  const refusing = { id, verb: request.method, path: url.pathname, contentType }
  const framing = envelopeOf(refusing)
  return framing ? refusedAnswer(refused, framing) : restAnswer(refuseCall(refused, refusing))
}

const probes: Readonly<Record<string, (options: FrontOptions) => Promise<Response>>> = {
  "/livez": async () => probed(200, "live"),
  "/readyz": async ({ isReady }) =>
    (await inTime(isReady, readinessMs)) ? probed(200, "ready") : probed(503, "not ready"),
}

const probed = (status: number, text: string): Response =>
  Response.json({ status: text }, { status, headers: { "cache-control": "no-store" } })
