import { Code, ConnectError, type Interceptor, type StreamRequest, type UnaryRequest } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { toldError } from "../errors.ts"

/** Hears of each fault of the service, with the call that met it. */
export type OnFault = (fault: unknown, call: UnaryRequest | StreamRequest) => void

/**
 * Turns whatever a call throws into what its caller may see. The outermost but for telemetry: nothing that is thrown
 * inside reaches a caller past it, in the middle of a stream neither.
 */
export function errors(onFault: OnFault): Interceptor {
  return (next) => async (req) => {
    const told = (thrown: unknown) => toldError(thrown, (fault) => onFault(fault, req))
    try {
      const res = await next(req.stream ? { ...req, message: readable(req.message) } : req)
      return res.stream ? { ...res, message: mapErrors(res.message, told) } : res
    } catch (thrown) {
      throw told(thrown)
    }
  }
}

/** A stream of requests whose own faults (framing, sizes) are the caller's, not the service's. */
function readable<T>(messages: AsyncIterable<T>): AsyncIterable<T> {
  return mapErrors(messages, (thrown) => {
    if (!(thrown instanceof ConnectError)) return thrown
    if (thrown.code === Code.InvalidArgument) return new Refused("MALFORMED_REQUEST", { cause: thrown })
    if (thrown.code === Code.ResourceExhausted) return new Refused("BODY_TOO_LARGE", { cause: thrown })
    return thrown
  })
}

async function* mapErrors<T>(messages: AsyncIterable<T>, map: (thrown: unknown) => unknown): AsyncGenerator<T> {
  try {
    yield* messages
  } catch (thrown) {
    throw map(thrown)
  }
}
