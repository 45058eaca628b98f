import { Code, ConnectError, type ContextValues, createContextValues } from "@connectrpc/connect"
import { networkOf, truncateAddress } from "../../../serving/address.ts"
import { kCall } from "../../../serving/call/call.ts"

/** A request on its way: what every protocol needs of it. */
export interface Arrived {
  readonly request: Request
  readonly id: string
  readonly url: URL
  readonly values: ContextValues
  /** Aborts when the caller goes away, before the answer or while it is on its way. */
  readonly gone: () => AbortSignal
  /** The caller does not want the rest of its answer. */
  readonly left: () => void
}

/** @param address The client's; null when it is not known. */
export function arrivedOf(request: Request, address: string | null): Arrived {
  const id = crypto.randomUUID()
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
