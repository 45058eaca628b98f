// Calls that wait for a rate limit, for a suite that a server counts.
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { RetryInfoSchema } from "@signet/proto/google/rpc/error_details"

/** Resolves when the call may be made again, in so many seconds. Rejects to end the call. */
export type WaitForLimit = (seconds: number) => Promise<void>

/** Repeats each unary call that a rate limit refused, when the time that the server names has passed. */
export function patient(transport: Transport, wait: WaitForLimit): Transport {
  return {
    stream: transport.stream,
    async unary(...call) {
      for (;;) {
        try {
          return await transport.unary(...call)
        } catch (error) {
          const refused = ConnectError.from(error)
          const [retry] = refused.findDetails(RetryInfoSchema)
          if (refused.code !== Code.ResourceExhausted || retry?.retryDelay === undefined) throw error
          await wait(Number(retry.retryDelay.seconds))
        }
      }
    },
  }
}
