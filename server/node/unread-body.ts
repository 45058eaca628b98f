import type { IncomingMessage } from "node:http"
import { constants, Http2ServerRequest } from "node:http2"

/** How long a client that was answered may take to end its request, in milliseconds. */
const lenienceMs = 1_000

/**
 * Ends an HTTP/2 stream a while after its answer, also when the rest of the request does not come: else the stream would
 * stay until the client lets go. The code says that nothing was wrong (RFC 9113 section 8.1); not at once, because
 * clients take a reset before their own end for a failure, and lose the answer.
 */
export function leaveUnread(request: IncomingMessage): void {
  // Fastify's types know HTTP/1 alone; the listener hands it both.
  const received: unknown = request
  if (!(received instanceof Http2ServerRequest)) return
  const { stream } = received
  // The answer, that is; the response itself finishes with the whole stream.
  stream.once("finish", () => {
    if (received.complete) return
    const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), lenienceMs)
    stream.once("close", () => clearTimeout(timer))
  })
}
