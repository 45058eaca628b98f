// One port for HTTP/1.1 and HTTP/2: selected by the first bytes without TLS, and by ALPN with TLS.
import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http"
import http2, { type Http2SecureServer, type Http2Server, type ServerHttp2Session } from "node:http2"
import { createServer as createSocketServer, type Socket, type Server as SocketServer } from "node:net"

export interface ListenerOptions {
  /** PEM texts; without them the port is cleartext. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  /** Maximum time for a connection to show its protocol, and for a request to send its headers. */
  readonly headersTimeoutMs?: number
  /** Maximum time for a complete request. */
  readonly requestTimeoutMs?: number
  /** Maximum idle time of a connection. */
  readonly keepAliveMs?: number
  /** Time for running calls after close() before their connections are cut. */
  readonly graceMs?: number
  /**
   * Time after close() before idle connections are closed. A client in the middle of its next request then gets a
   * response that closes the connection, and not a reset. Connections that wait to be accepted are accepted, too.
   */
  readonly idleGraceMs?: number
}

const defaults = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveMs: 75_000,
  graceMs: 9_000,
  idleGraceMs: 0,
}

/** Creates a server for Fastify's `serverFactory`: listen, close and close idle connections work as in node:http. */
export function listener(handler: RequestListener, options: ListenerOptions = {}): Server {
  const limits = { ...defaults, ...options }
  return options.tls ? secureListener(handler, options.tls, limits) : cleartextListener(handler, limits)
}

type Limits = typeof defaults

const http1Options = ({ headersTimeoutMs, requestTimeoutMs, keepAliveMs }: Limits): ServerOptions => ({
  headersTimeout: headersTimeoutMs,
  requestTimeout: requestTimeoutMs,
  keepAliveTimeout: keepAliveMs,
  connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs),
  maxHeaderSize: 16_384,
})

const http2Options = {
  maxHeaderListPairs: 100,
  maxSendHeaderBlockLength: 65_536,
  settings: { maxConcurrentStreams: 128, maxHeaderListSize: 16_384 },
}

function cleartextListener(handler: RequestListener, limits: Limits): Server {
  const http1 = createServer(http1Options(limits), handler)
  const h2 = http2.createServer(http2Options, compatible(handler))
  const sessions = trackSessions(h2, limits)
  const undecided = new Set<Socket>()
  const front = createSocketServer({ noDelay: true }, (socket) => {
    undecided.add(socket)
    socket.once("close", () => undecided.delete(socket))
    decideProtocol(socket, limits.headersTimeoutMs, (isHttp2) => {
      undecided.delete(socket)
      const server = isHttp2 ? h2 : http1
      server.emit("connection", socket)
    })
  })
  // Starts the timeouts and connection tracking of a server that never listens itself.
  front.on("listening", () => http1.emit("listening"))
  front.on("close", () => http1.close())
  return asHttpServer(front, limits, (isIdleAllowed) => {
    for (const session of sessions) session.close()
    if (isIdleAllowed) return
    http1.closeIdleConnections()
    for (const socket of undecided) socket.destroy()
  })
}

const preface = Buffer.from("PRI * HTTP/2.0")

/** Reads until the bytes match, or cannot match, the HTTP/2 preface (RFC 9113 section 3.4), and pushes them back. */
function decideProtocol(socket: Socket, timeoutMs: number, decided: (isHttp2: boolean) => void): void {
  const giveUp = () => socket.destroy()
  const timer = setTimeout(giveUp, timeoutMs)
  let head = Buffer.alloc(0)
  const read = () => {
    const chunk: Buffer | null = socket.read()
    if (chunk === null) return
    head = Buffer.concat([head, chunk])
    const length = Math.min(head.length, preface.length)
    const isPreface = preface.subarray(0, length).equals(head.subarray(0, length))
    if (isPreface && length < preface.length) return
    stop()
    socket.unshift(head)
    decided(isPreface)
  }
  const stop = () => {
    clearTimeout(timer)
    socket.off("readable", read).off("end", giveUp).off("error", giveUp).off("close", stop)
  }
  socket.on("readable", read).on("end", giveUp).on("error", giveUp).on("close", stop)
}

function secureListener(handler: RequestListener, tls: { cert: string; key: string }, limits: Limits): Server {
  const server = http2.createSecureServer(
    {
      ...http1Options(limits),
      ...http2Options,
      ...tls,
      allowHTTP1: true,
      minVersion: "TLSv1.2",
      handshakeTimeout: limits.headersTimeoutMs,
    },
    compatible(handler),
  )
  const sessions = trackSessions(server, limits)
  // Available since Node 24, but not in its type declarations yet.
  const closeIdleHttp1: unknown = "closeIdleConnections" in server ? server.closeIdleConnections : undefined
  return asHttpServer(server, limits, (isIdleAllowed) => {
    if (!isIdleAllowed && typeof closeIdleHttp1 === "function") closeIdleHttp1.call(server)
    for (const session of sessions) session.close()
  })
}

function trackSessions(server: Http2Server | Http2SecureServer, limits: Limits): Set<ServerHttp2Session> {
  const sessions = new Set<ServerHttp2Session>()
  server.on("session", (session: ServerHttp2Session) => {
    sessions.add(session)
    session.once("close", () => sessions.delete(session))
    session.setTimeout(limits.keepAliveMs, () => session.close())
  })
  // An aborting or malformed client is not a fault of the server.
  server.on("sessionError", () => undefined)
  return sessions
}

/** Adapts the server to Fastify. Closing it refuses new connections, lets calls finish for a while, then cuts them. */
function asHttpServer(
  server: SocketServer,
  { graceMs, idleGraceMs }: Limits,
  closeIdle: (isIdleAllowed: boolean) => void,
): Server {
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.once("close", () => sockets.delete(socket))
  })
  // Sockets, not sessions: a closing session waits for a peer that may never answer.
  const closeAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  const closeServer = server.close.bind(server)
  const close = (done?: (error?: Error) => void) => {
    const cut = setTimeout(closeAll, graceMs)
    const idleUntil = performance.now() + idleGraceMs
    const closeDue = () => closeIdle(performance.now() < idleUntil)
    // Repeated, because a connection becomes idle when its last call is answered.
    const sweep = setInterval(closeDue, 50)
    void untilQueueIsEmpty(server, idleUntil).then(() => {
      closeServer((error) => {
        clearTimeout(cut)
        clearInterval(sweep)
        done?.(error)
      })
    })
    closeDue()
    return server
  }
  // Fastify's factory is typed as node:http, but uses only these members and the events of net.Server.
  return Object.assign(server, {
    close,
    // Fastify calls it when it begins to close.
    closeIdleConnections: () => closeIdle(idleGraceMs > 0),
    closeAllConnections: closeAll,
    setTimeout: () => server,
  }) as unknown as Server
}

/** Above it, a connection may have arrived in a turn of the event loop after the loop accepted the others. */
const shortTurnMs = 2

/**
 * Waits for a short turn of the event loop without a new connection. A system resets the connections that a closed port
 * has not accepted, and a proxy does not repeat their calls, because it cannot know that no server has seen them.
 *
 * @param until By the clock of `performance`.
 */
async function untilQueueIsEmpty(server: SocketServer, until: number): Promise<void> {
  let arrived = 0
  const count = () => arrived++
  server.on("connection", count)
  for (let isEmpty = false; !isEmpty && performance.now() < until; ) {
    const [before, startedAt] = [arrived, performance.now()]
    await nextTurn()
    await nextTurn()
    isEmpty = arrived === before && performance.now() - startedAt < 2 * shortTurnMs
  }
  server.off("connection", count)
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

// node:http2's compatibility API has all members of node:http that Fastify and Connect use.
const compatible = (handler: RequestListener) =>
  handler as unknown as (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse) => void
