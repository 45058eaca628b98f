import type { Interceptor } from "@connectrpc/connect"
import { kCall } from "./call/call.ts"
import { outcomeOf } from "./outcome.ts"
import { settled } from "./settled.ts"

/** What is said of a call when it is over. */
export interface CallLine {
  readonly rpc: string
  readonly outcome: ReturnType<typeof outcomeOf>
  readonly durationMs: number
  readonly requestId: string
}

/**
 * One line a call: which method, how it ended, how long it took, and the id to find it by.
 *
 * @param begin Is called when a call begins, and gives what its line is written with.
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
