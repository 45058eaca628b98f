// A network that loses one call: the request, or the response.
import { Code, ConnectError, type Transport } from "@connectrpc/connect"

export interface LostCall {
  /** The k-th unary call, counted from 0. */
  readonly at: number
  /** "after": the service has already executed the call. */
  readonly when: "before" | "after"
}

interface FaultyTransport extends Transport {
  /** Number of calls so far. */
  readonly count: number
  /** True once the call was lost. */
  readonly hasFailed: boolean
}

export function faultyTransport(transport: Transport, lost?: LostCall): FaultyTransport {
  let count = 0
  let hasFailed = false
  return {
    get hasFailed() {
      return hasFailed
    },
    get count() {
      return count
    },
    async unary(...call) {
      const isLost = lost !== undefined && count === lost.at
      count++
      if (!isLost) return transport.unary(...call)
      hasFailed = true
      if (lost.when === "after") await transport.unary(...call)
      throw new ConnectError(`call ${lost.at} was lost ${lost.when} it was done`, Code.Unavailable)
    },
    stream: (...call) => transport.stream(...call),
  }
}
