import type { Interceptor } from "@connectrpc/connect"
import { isSpanContextValid, trace } from "@opentelemetry/api"
import type { FastifyBaseLogger } from "fastify"
import { callLines } from "../serving/call-log.ts"

/** Logs each call with its trace id. Register it inside the tracing interceptor. */
export function callLog(log: FastifyBaseLogger): Interceptor {
  return callLines(() => {
    const span = trace.getActiveSpan()?.spanContext()
    // There is no valid span context without an exporter or a caller's trace.
    const traceId = span && isSpanContextValid(span) ? span.traceId : undefined
    return (line) => {
      if (line.outcome === "INTERNAL") log.error({ ...line, traceId }, "call")
      else log.info({ ...line, traceId }, "call")
    }
  })
}
