import type { ServerResponse } from "node:http"
import { Code, ConnectError } from "@connectrpc/connect"

/** The open calls that a server's shutdown aborts, by its signal: `AbortSignal.any` costs more than a set's entry. */
const openCalls = new WeakMap<AbortSignal, Set<AbortController>>()

/** Aborts if the connection ends before the response, or when the server stops. */
export function goneSignal(response: ServerResponse, shutdownSignal: AbortSignal | undefined): AbortSignal {
  const controller = new AbortController()
  const abort = () => controller.abort(new ConnectError("the client closed the connection", Code.Canceled))
  if (shutdownSignal?.aborted) controller.abort(shutdownSignal.reason)
  if (response.destroyed) abort()
  if (controller.signal.aborted) return controller.signal
  const calls = shutdownSignal && openCallsOf(shutdownSignal)
  calls?.add(controller)
  response.once("close", () => {
    calls?.delete(controller)
    // Over HTTP/2 an aborted response counts as finished, too.
    if (!response.writableEnded || !response.writableFinished) abort()
  })
  return controller.signal
}

function openCallsOf(shutdownSignal: AbortSignal): Set<AbortController> {
  const known = openCalls.get(shutdownSignal)
  if (known !== undefined) return known
  const calls = new Set<AbortController>()
  openCalls.set(shutdownSignal, calls)
  shutdownSignal.addEventListener("abort", () => {
    for (const call of calls) call.abort(shutdownSignal.reason)
    calls.clear()
  })
  return calls
}
