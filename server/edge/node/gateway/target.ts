// Calls the target over HTTP/1.1, which every host of Workers and every Node program speaks.
import http, { type IncomingMessage, type OutgoingHttpHeaders } from "node:http"
import https from "node:https"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { Refused } from "@signet/kernel/errors"

export interface Call {
  readonly method: string
  /** Path and query as received. */
  readonly path: string
  /** An undefined header is not sent. */
  readonly headers: OutgoingHttpHeaders
  /** An error that it throws ends the call with that error. */
  readonly body: AsyncIterable<Uint8Array> | undefined
  readonly signal: AbortSignal
}

export interface Target {
  /**
   * Returns the answer when its headers have arrived, perhaps before the body was sent completely.
   *
   * @throws Refused UNAVAILABLE without an answer, MALFORMED_REQUEST for headers that cannot be sent.
   */
  readonly send: (call: Call) => Promise<IncomingMessage>
  readonly close: () => void
}

/** Idle connections are closed before the target closes them: one closed during a call would fail it. */
const idleMs = 4_000

/** @param url Its path is the prefix of all calls' paths. */
export function targetAt(url: URL): Target {
  const client = url.protocol === "https:" ? https : http
  const agent = new client.Agent({ keepAlive: true, timeout: idleMs })
  const prefix = url.pathname.replace(/\/$/, "")
  return {
    send: (call) => send((options) => client.request(url, { ...options, agent }), prefix, call),
    close: () => agent.destroy(),
  }
}

type Open = (options: http.RequestOptions) => http.ClientRequest

async function send(
  open: Open,
  prefix: string,
  { method, path, headers, body, signal }: Call,
): Promise<IncomingMessage> {
  const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))
  const request = opened(open, { method, path: prefix + path, headers: sent, signal })
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request.on("response", resolve)
  request.on("error", (cause) => reject(new Refused("UNAVAILABLE", { cause })))
  if (body === undefined) request.end()
  else {
    let broken: unknown
    const source = (async function* () {
      try {
        yield* body
      } catch (thrown) {
        broken = thrown
        throw thrown
      }
    })()
    // The request's own error is more precise, except for a malformed body.
    pipeline(Readable.from(source, { objectMode: false }), request).catch(() => {
      if (broken !== undefined) reject(broken)
    })
  }
  return promise
}

function opened(open: Open, options: http.RequestOptions): http.ClientRequest {
  try {
    return open(options)
  } catch (cause) {
    // Node rejects invalid header values, such as one with a line break.
    throw new Refused("MALFORMED_REQUEST", { cause })
  }
}
