// Calls that wait for rate limits, for a suite against a server with limits.
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { RetryInfoSchema } from "@signet/proto/google/rpc/error_details"

/** Resolves when the call may be retried, after this many seconds. Rejects to abort the call. */
export type WaitForLimit = (seconds: number) => Promise<void>

/** Retries each rate-limited unary call after the time that the server states. */
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
