// Sends a push from Node. The URL comes from a client, so a host name is resolved once, each address is checked, and the
// connection is made to a checked address: a second resolution could return another one (DNS rebinding).
import { lookup } from "node:dns/promises"
import http, { type ClientRequest, type IncomingMessage } from "node:http"
import https, { type RequestOptions } from "node:https"
import type { LookupFunction } from "node:net"
import { isPublicIp } from "@signet/kernel/administration/ip-address"
import { type PushAnswer, pushLimits } from "@signet/kernel/messaging/push"
import type { PushRequest } from "./push-request.ts"

export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

type BeginRequest = (url: URL, options: RequestOptions) => ClientRequest

export interface PinnedSendOptions {
  /** The addresses of a host name. Default: the system's resolver. */
  readonly resolve?: (host: string) => Promise<readonly ResolvedAddress[]>
  /** Development only: loopback, also without TLS. */
  readonly isLoopbackAllowed: boolean
  readonly timeoutMs?: number
  /** The connection to a checked address. Default: Node's. */
  readonly request?: BeginRequest
}

const isLoopback = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host)

/**
 * Returns a function that sends one push, and follows no redirect.
 *
 * Its result is undefined if there is no answer within 10 seconds, or if any address of the host is not public. The body
 * of an answer is not read, and its head has at most 4 KiB.
 */
export function createPinnedSend(options: PinnedSendOptions): (push: PushRequest) => Promise<PushAnswer> {
  const {
    resolve = (host) => lookup(host, { all: true }),
    isLoopbackAllowed,
    timeoutMs = pushLimits.timeoutMs,
  } = options
  return async (push) => {
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      const url = new URL(push.url)
      const isLocal = isLoopbackAllowed && isLoopback(url.hostname)
      const found = isLocal ? [] : await unlessAborted(signal, resolve(url.hostname))
      const [pinned] = found
      if (!isLocal && (pinned === undefined || !found.every(({ address }) => isPublicIp(address)))) return undefined
      const response = await unlessAborted(signal, send(push, url, { signal, pinned, request: options.request }))
      response.destroy()
      return { status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"] ?? null }
    } catch {
      // The cause could name an address inside the operator's network. A push without an answer is retried.
      return undefined
    }
  }
}

interface Connection {
  readonly signal: AbortSignal
  readonly pinned: ResolvedAddress | undefined
  readonly request: BeginRequest | undefined
}

function send(push: PushRequest, url: URL, { signal, pinned, request }: Connection): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const begin: BeginRequest = request ?? (url.protocol === "https:" ? https.request : http.request)
    const call = begin(url, {
      method: "POST",
      headers: push.headers,
      signal,
      maxHeaderSize: pushLimits.maxResponseBytes,
      // A connection of its own: a shared one could lead to an address that was checked for another push.
      agent: false,
      ...(pinned === undefined ? {} : { lookup: to(pinned) }),
    })
    call.once("response", resolve)
    call.once("error", reject)
    // The only event of an answer 101.
    call.once("close", () => reject(new Error("the connection was closed")))
    call.end(push.body)
  })
}

/** A resolver that knows one address. */
const to =
  ({ address, family }: ResolvedAddress): LookupFunction =>
  (_host, { all }, done) => {
    if (all === true) done(null, [{ address, family }])
    else done(null, address, family)
  }

function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}
