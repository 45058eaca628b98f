import { Code, ConnectError, type Interceptor } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"

/**
 * Refuses with DEADLINE_EXCEEDED when the caller's deadline or the service's own limit passes before the answer is
 * ready, and with CANCELED when the caller disconnected. A call that arrives after its deadline never reaches its
 * handler.
 *
 * @param limitMs The longest duration of a unary call. Streams have only the caller's deadline.
 */
export function deadline(limitMs: number): Interceptor {
  return (next) => async (req) => {
    const { signal } = req
    if (signal.aborted) throw endOf(signal)
    if (req.stream) return next(req)
    const ended = Promise.withResolvers<never>()
    const onAbort = () => ended.reject(endOf(signal))
    const timer = setTimeout(() => ended.reject(new Refused("DEADLINE_EXCEEDED")), limitMs)
    signal.addEventListener("abort", onAbort)
    try {
      return await Promise.race([next(req), ended.promise])
    } finally {
      clearTimeout(timer)
      signal.removeEventListener("abort", onAbort)
    }
  }
}

/** The reason for which a signal ended a call: its deadline, the server's shutdown, or the caller. */
export function endOf({ reason }: AbortSignal): Refused {
  const code = reason instanceof ConnectError ? reason.code : undefined
  if (code === Code.DeadlineExceeded) return new Refused("DEADLINE_EXCEEDED", { cause: reason })
  return new Refused(code === Code.Unavailable ? "UNAVAILABLE" : "CANCELED", { cause: reason })
}
