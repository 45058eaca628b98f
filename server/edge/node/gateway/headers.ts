// Which headers go on, and which end here: what belongs to one connection stays on it, and what a client may make up of
// itself, such as its address, is not believed.
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http"
import { Http2ServerRequest } from "node:http2"

/** All that a request of the contract says by headers, over any of its protocols. */
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

/** Of one connection (RFC 9110 section 7.6.1). */
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
 * What the target gets of a request's headers. A header that came twice goes on twice: which of two credentials counts
 * is the target's to refuse.
 *
 * @param more Names in lower case that go on besides those of the contract.
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

/** Who called, for a target that trusts one hop: the address that connected here comes last. */
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

/** What the caller gets of an answer's headers. */
export function answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase())
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !ofConnection.has(name) && !named.includes(name)),
  )
}

/** Whether a body comes with the request. */
export function hasBody(request: IncomingMessage): boolean {
  // Typed by node:http; the listener hands on both.
  const received: unknown = request
  if (received instanceof Http2ServerRequest) return !received.stream.endAfterHeaders
  return "transfer-encoding" in request.headers || Number(request.headers["content-length"] ?? 0) > 0
}
