import type { IncomingMessage } from "node:http"
import { constants, Http2ServerRequest } from "node:http2"

/** How long a client may take to end its request after the response, in milliseconds. */
const graceMs = 1_000

/**
 * Closes the HTTP/2 stream of a request whose body was not read to its end, some time after the response. Otherwise the
 * stream stays open until the client closes it.
 *
 * The reset has the code NO_ERROR (RFC 9113 section 8.1). A client that gets it while it still sends treats it as a
 * failure and loses the response, so the client has a second to finish.
 */
export function closeAfterResponse(request: IncomingMessage): void {
  // Fastify's types have HTTP/1 only, but the listener passes requests of HTTP/2 too.
  const received: unknown = request
  if (!(received instanceof Http2ServerRequest)) return
  const { stream } = received
  // The stream finishes with the response's last byte; the response object only when the whole stream closes.
  stream.once("finish", () => {
    if (received.complete) return
    const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), graceMs)
    stream.once("close", () => clearTimeout(timer))
  })
}
