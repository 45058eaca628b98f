import type { Interceptor } from "@connectrpc/connect"
import { kCall } from "./call/call.ts"
import { outcomeOf } from "./outcome.ts"
import { settled } from "./settled.ts"

/** The log entry of a finished call. */
export interface CallLine {
  readonly rpc: string
  readonly outcome: ReturnType<typeof outcomeOf>
  readonly durationMs: number
  readonly requestId: string
}

/**
 * Logs one line per call: method, outcome, duration and request id.
 *
 * @param begin Called when a call begins; returns the writer of its line.
 */
export function callLines(begin: () => (line: CallLine) => void): Interceptor {
  return (next) => (req) => {
    const startedMs = performance.now()
    const write = begin()
    const { requestId } = req.contextValues.get(kCall)
    return settled(
      () => next(req),
      (thrown) =>
        write({
          rpc: `${req.service.typeName}/${req.method.name}`,
          outcome: outcomeOf(thrown),
          durationMs: Math.round(performance.now() - startedMs),
          requestId,
        }),
    )
  }
}
