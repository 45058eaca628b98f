import { randomUUID } from "node:crypto"
import type { Server } from "node:http"
import { Code, ConnectError } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import Fastify, { type FastifyBaseLogger, type FastifyError, type FastifyInstance, LogController } from "fastify"
import { refusal } from "../serving/rest/rest.ts"
import { closeAfterResponse } from "./close-after-response.ts"
import { type ListenerOptions, listener } from "./listener.ts"
import { refuseCall } from "./refuse-call.ts"
import { sendResponse } from "./rest-plugin.ts"

interface HttpOptions {
  readonly listener?: ListenerOptions
  readonly log?: FastifyBaseLogger
  /** Called for an unexpected error that no handler of a route has answered. */
  readonly onFault: (fault: unknown) => void
  /** Number of proxies in front whose X-Forwarded headers are trusted. */
  readonly trustedHops?: number
}

/** The signals of a shutdown, in the order in which they abort. */
interface Shutdown {
  /** Ends streams; other calls continue. */
  readonly closing: AbortSignal
  /** Ends calls. */
  readonly shutdown: AbortSignal
}

/** Creates the public HTTP server without routes. It refuses unknown routes and malformed requests. */
export function createHttp(options: HttpOptions): FastifyInstance {
  const { trustedHops = 0 } = options
  const app = Fastify<Server>({
    serverFactory: (handler) => listener(handler, options.listener),
    genReqId: () => randomUUID(),
    forceCloseConnections: "idle",
    // While the server closes, a call on an open connection is answered, and the answer closes the connection.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    trustProxy: trustedHops > 0 && ((_address, hop) => hop < trustedHops),
    routerOptions: { maxParamLength: 256 },
    ...(options.log
      ? { loggerInstance: options.log, logController: new LogController({ disableRequestLogging: true }) }
      : {}),
    frameworkErrors(_error, request, reply) {
      void refuseCall(new Refused("MALFORMED_REQUEST"), request, reply)
    },
  })
  const routes: string[] = []
  routeTables.set(app, routes)
  app.addHook("onRoute", ({ method, url }) => {
    for (const verb of Array.isArray(method) ? method : [method]) routes.push(`${verb} ${url}`)
  })
  app.addHook("onRequest", async ({ raw, id }, reply) => {
    closeAfterResponse(raw)
    // If one of the headers below is repeated, Node keeps the first value. A proxy may have used another one.
    if (isRepeated(raw.rawHeaders, "authorization")) throw new Refused("MALFORMED_CREDENTIAL")
    const { ":authority": authority, host = "" } = raw.headers
    const target = typeof authority === "string" ? authority : host
    const isValidTarget = target === "" || URL.canParse(`http://${target}`)
    if (isValidTarget && !isRepeated(raw.rawHeaders, "host") && !isRepeated(raw.rawHeaders, "content-type")) return
    return sendResponse(reply, refusal(new Refused("MALFORMED_REQUEST"), id))
  })
  // Routes read bodies themselves. Without a route no body is read or validated.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("*", (_request, _payload, done) => done(null))
  app.setNotFoundHandler((request, reply) => refuseCall(new Refused("METHOD_UNKNOWN"), request, reply))
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const refused = error instanceof Refused ? error : refusalFor(error)
    if (refused.reason === "INTERNAL") options.onFault(error)
    return refuseCall(refused, request, reply)
  })
  return app
}

/** @param raw Alternating names and values as received. */
function isRepeated(raw: readonly string[], name: string): boolean {
  let count = 0
  for (let at = 0; at < raw.length; at += 2) {
    const text = raw[at]
    if (text?.length === name.length && text.toLowerCase() === name) count++
  }
  return count > 1
}

const routeTables = new WeakMap<FastifyInstance, string[]>()

/** All routes of a server as `GET /path`, sorted. A golden test compares them with the contract. */
export const routeTable = (app: FastifyInstance): string[] => (routeTables.get(app) ?? []).toSorted()

function refusalFor({ statusCode }: FastifyError): Refused {
  switch (statusCode) {
    case 400:
      return new Refused("MALFORMED_REQUEST")
    case 413:
      return new Refused("BODY_TOO_LARGE")
    case 415:
      return new Refused("UNSUPPORTED_MEDIA_TYPE")
    default:
      return new Refused("INTERNAL")
  }
}

/**
 * Ends streams as soon as the server begins to close, and calls after a drain time.
 *
 * @param drainMs Time for running calls. Shorter than the listener's graceMs, so that callers learn why calls end.
 */
export function shutdownOf(app: FastifyInstance, drainMs = 8_000): Shutdown {
  const closing = new AbortController()
  const shutdown = new AbortController()
  const stopping = () => new ConnectError("the server is shutting down", Code.Unavailable)
  let timer: ReturnType<typeof setTimeout> | undefined
  app.addHook("preClose", (done) => {
    // After the other hooks, so that streams can send a last message.
    setImmediate(() => closing.abort(stopping()))
    timer = setTimeout(() => shutdown.abort(stopping()), drainMs)
    done()
  })
  app.addHook("onClose", (_app, done) => {
    clearTimeout(timer)
    done()
  })
  return { closing: closing.signal, shutdown: shutdown.signal }
}
