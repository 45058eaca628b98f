import { Code, ConnectError, type Interceptor, type StreamRequest, type UnaryRequest } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { toConnectError } from "../errors.ts"

/** Called for each fault of the service, with its call. */
type OnFault = (fault: unknown, call: UnaryRequest | StreamRequest) => void

/**
 * Turns everything that a call throws into the caller's error, also in the middle of a stream. Only telemetry is
 * further outside.
 */
export function errors(onFault: OnFault): Interceptor {
  return (next) => async (req) => {
    const mapped = (thrown: unknown) => toConnectError(thrown, (fault) => onFault(fault, req))
    try {
      const res = await next(req.stream ? { ...req, message: readable(req.message) } : req)
      return res.stream ? { ...res, message: mapErrors(res.message, mapped) } : res
    } catch (thrown) {
      throw mapped(thrown)
    }
  }
}

/** A stream of requests whose faults (framing, sizes) are the caller's, not the service's. */
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
