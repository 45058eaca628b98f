// Selects the headers to forward. Hop-by-hop headers are dropped, and so are headers by which a client could claim
// facts, such as its address.
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http"
import { Http2ServerRequest } from "node:http2"

/** The request headers of the contract, over all of its protocols. */
const onward: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "access-control-request-headers",
  "access-control-request-method",
  "authorization",
  "connect-accept-encoding",
  "connect-content-encoding",
  "connect-protocol-version",
  "connect-timeout-ms",
  "content-encoding",
  "content-type",
  "cookie",
  "grpc-accept-encoding",
  "grpc-encoding",
  "grpc-timeout",
  "if-none-match",
  "origin",
  "sec-fetch-site",
  "signet-device-proof",
  "traceparent",
  "tracestate",
  "user-agent",
  "x-grpc-web",
  "x-signet-client",
  "x-user-agent",
])

/** Hop-by-hop headers (RFC 9110 section 7.6.1). */
const ofConnection: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

/**
 * The request headers for the target. A repeated header is forwarded repeatedly: the target refuses two credentials.
 *
 * @param more Lower-case names of headers to forward besides those of the contract.
 */
export function onwardHeaders(request: IncomingMessage, more: ReadonlySet<string>): OutgoingHttpHeaders {
  const out: Record<string, string | string[]> = {}
  const { rawHeaders } = request
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? ""
    const value = rawHeaders[at + 1] ?? ""
    if (!onward.has(name) && !more.has(name)) continue
    const before = out[name]
    out[name] = before === undefined ? value : [before, value].flat()
  }
  if (Array.isArray(out.cookie)) out.cookie = out.cookie.join("; ")
  return { ...out, ...forwarded(request) }
}

/**
 * The client's address, for a target that trusts one hop: the address that connected to the gateway is the last one.
 */
function forwarded({ headers, socket }: IncomingMessage): OutgoingHttpHeaders {
  const { ":authority": authority, host } = headers
  const named = typeof authority === "string" ? authority : host
  const before = headers["x-forwarded-for"]
  const address = socket.remoteAddress ?? ""
  return {
    "x-forwarded-for": before === undefined ? address : `${before}, ${address}`,
    "x-forwarded-proto": "encrypted" in socket ? "https" : "http",
    ...(named ? { "x-forwarded-host": named } : {}),
  }
}

/** The answer's headers for the caller. */
export function answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase())
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !ofConnection.has(name) && !named.includes(name)),
  )
}

/** True if the request has a body. */
export function hasBody(request: IncomingMessage): boolean {
  // node:http types the request as HTTP/1.1, but the listener passes HTTP/2 requests too.
  const received: unknown = request
  if (received instanceof Http2ServerRequest) return !received.stream.endAfterHeaders
  return "transfer-encoding" in request.headers || Number(request.headers["content-length"] ?? 0) > 0
}
