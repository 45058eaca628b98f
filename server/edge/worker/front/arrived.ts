import { Code, ConnectError, type ContextValues, createContextValues } from "@connectrpc/connect"
import { networkOf, truncateAddress } from "../../../serving/address.ts"
import { kCall } from "../../../serving/call/call.ts"

/** The facts of a request that every protocol needs. */
export interface Arrived {
  readonly request: Request
  readonly id: string
  readonly url: URL
  readonly values: ContextValues
  /** Aborts when the caller disconnects, before or during the answer. */
  readonly gone: () => AbortSignal
  /** Called when the caller cancels the answer. */
  readonly left: () => void
}

export function arrivedOf(request: Request): Arrived {
  const id = crypto.randomUUID()
  // The platform overwrites this header if a caller sends it. A caller may send any other.
  const address = request.headers.get("cf-connecting-ip")
  const call = {
    requestId: id,
    ipTruncated: address === null ? null : truncateAddress(address),
    network: address === null ? null : networkOf(address),
  }
  const controller = new AbortController()
  const left = () => controller.abort(new ConnectError("the client closed the connection", Code.Canceled))
  return {
    request,
    id,
    url: new URL(request.url),
    values: createContextValues().set(kCall, call),
    gone() {
      if (request.signal.aborted) left()
      else request.signal.addEventListener("abort", left, { once: true })
      return controller.signal
    },
    left,
  }
}
