import type { Interceptor } from "@connectrpc/connect"
import { isSpanContextValid, trace } from "@opentelemetry/api"
import type { FastifyBaseLogger } from "fastify"
import { kCall } from "../rpc/call.ts"
import { outcomeOf } from "../rpc/outcome.ts"
import { settled } from "../rpc/settled.ts"

/** One line a call: which method, how it ended, how long it took, and the ids to find it by. Inside of the tracing. */
export function callLog(log: FastifyBaseLogger): Interceptor {
  return (next) => (req) => {
    const startedMs = performance.now()
    const span = trace.getActiveSpan()?.spanContext()
    // Without an exporter and without a caller's trace there is none.
    const traceId = span && isSpanContextValid(span) ? span.traceId : undefined
    const { requestId } = req.contextValues.get(kCall)
    return settled(
      () => next(req),
      (thrown) => {
        const outcome = outcomeOf(thrown)
        const line = {
          rpc: `${req.service.typeName}/${req.method.name}`,
          outcome,
          durationMs: Math.round(performance.now() - startedMs),
          requestId,
          traceId,
        }
        if (outcome === "INTERNAL") log.error(line, "call")
        else log.info(line, "call")
      },
    )
  }
}
