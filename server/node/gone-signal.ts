import type { ServerResponse } from "node:http"
import { Code, ConnectError } from "@connectrpc/connect"

/** Aborts when the connection ends before the answer, or when the server stops. */
export function goneSignal(response: ServerResponse, shutdownSignal: AbortSignal | undefined): AbortSignal {
  const controller = new AbortController()
  const abort = () => controller.abort(new ConnectError("the client closed the connection", Code.Canceled))
  if (response.destroyed) abort()
  response.once("close", () => {
    // Over HTTP/2 a response that was cut counts as finished, too.
    if (!response.writableEnded || !response.writableFinished) abort()
  })
  return shutdownSignal ? AbortSignal.any([controller.signal, shutdownSignal]) : controller.signal
}
