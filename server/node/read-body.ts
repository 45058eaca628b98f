import type { IncomingMessage } from "node:http"
import { Refused } from "@signet/kernel/errors"

/**
 * Reads a request's body.
 *
 * @throws Refused BODY_TOO_LARGE before more than the limit is buffered, CANCELED if the client disconnects,
 * DEADLINE_EXCEEDED if the body does not arrive in time.
 */
export function readBody(request: IncomingMessage, maxBytes: number, timeoutMs = 30_000): Promise<Uint8Array> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return Promise.reject(new Refused("BODY_TOO_LARGE"))
  if (request.readableEnded) return Promise.resolve(new Uint8Array())
  if (request.destroyed) return Promise.reject(new Refused("CANCELED"))
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  const chunks: Buffer[] = []
  let length = 0
  const onData = (chunk: Buffer) => {
    length += chunk.length
    if (length > maxBytes) return end(() => reject(new Refused("BODY_TOO_LARGE")))
    chunks.push(chunk)
  }
  const onEnd = () => end(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
  const onGone = () => end(() => reject(new Refused("CANCELED")))
  const timer = setTimeout(() => end(() => reject(new Refused("DEADLINE_EXCEEDED"))), timeoutMs)
  const end = (settle: () => void) => {
    clearTimeout(timer)
    request.off("data", onData).off("end", onEnd).off("close", onGone)
    // Read and drop the rest, so that the connection can be reused.
    request.resume()
    settle()
  }
  // An error is always followed by close; without a listener it would end the process.
  request.on("error", () => undefined)
  request.on("data", onData).on("end", onEnd).on("close", onGone)
  return promise
}
