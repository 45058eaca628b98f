import type { ServerResponse } from "node:http"
import { Code, ConnectError } from "@connectrpc/connect"

/** Aborts if the connection ends before the response, or when the server stops. */
export function goneSignal(response: ServerResponse, shutdownSignal: AbortSignal | undefined): AbortSignal {
  const controller = new AbortController()
  const abort = () => controller.abort(new ConnectError("the client closed the connection", Code.Canceled))
  if (response.destroyed) abort()
  response.once("close", () => {
    // Over HTTP/2 an aborted response counts as finished, too.
    if (!response.writableEnded || !response.writableFinished) abort()
  })
  return shutdownSignal ? AbortSignal.any([controller.signal, shutdownSignal]) : controller.signal
}
