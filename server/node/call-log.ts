import type { Interceptor } from "@connectrpc/connect"
import { isSpanContextValid, trace } from "@opentelemetry/api"
import type { FastifyBaseLogger } from "fastify"
import { callLines } from "../serving/call-log.ts"

/** Each call's line, with the trace that it belongs to. Inside of the tracing. */
export function callLog(log: FastifyBaseLogger): Interceptor {
  return callLines(() => {
    const span = trace.getActiveSpan()?.spanContext()
    // Without an exporter and without a caller's trace there is none.
    const traceId = span && isSpanContextValid(span) ? span.traceId : undefined
    return (line) => {
      if (line.outcome === "INTERNAL") log.error({ ...line, traceId }, "call")
      else log.info({ ...line, traceId }, "call")
    }
  })
}
