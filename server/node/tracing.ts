import type { Interceptor } from "@connectrpc/connect"
import { context, propagation, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api"
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks"
import { W3CTraceContextPropagator } from "@opentelemetry/core"
import { BatchSpanProcessor, type SpanExporter, type SpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace"
import { outcomeOf } from "../serving/outcome.ts"
import { settled } from "../serving/settled.ts"

interface Tracing {
  /** Undefined without a receiver of spans. */
  readonly tracer: Tracer | undefined
  /** Sends what is still to be sent. */
  readonly stop: () => Promise<void>
}

/**
 * Spans for an exporter, or for nobody: then calls only pass their caller's trace on.
 *
 * @param to Where spans go: an exporter, which is given batches, or a processor.
 */
export function startTracing(to?: { exporter: SpanExporter } | { processor: SpanProcessor }): Tracing {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  if (to === undefined) return { tracer: undefined, stop: async () => undefined }
  const processor = "processor" in to ? to.processor : new BatchSpanProcessor({ exporter: to.exporter })
  const provider = new TracerProvider({ spanProcessors: [processor] })
  return { tracer: provider.getTracer("signet"), stop: () => provider.shutdown() }
}

const carrier = {
  get: (headers: Headers, name: string) => headers.get(name) ?? undefined,
  keys: (headers: Headers) => [...headers.keys()],
}

/**
 * A server span for each call, below the span that the caller names (W3C Trace Context). It says which method and how
 * it ended, and nothing of the message.
 */
export function traced(of: Tracer | undefined): Interceptor {
  const tracer = of ?? trace.getTracer("signet")
  return (next) => (req) => {
    // Nobody receives a span, and there is no trace to pass on.
    if (of === undefined && !req.header.has("traceparent")) return next(req)
    const parent = propagation.extract(context.active(), req.header, carrier)
    const service = req.service.typeName
    const attributes = { "rpc.system": "connect_rpc", "rpc.service": service, "rpc.method": req.method.name }
    const span = tracer.startSpan(`${service}/${req.method.name}`, { kind: SpanKind.SERVER, attributes }, parent)
    const active = trace.setSpan(parent, span)
    return settled(
      () => next(req),
      (thrown) => endSpan(span, thrown),
      (step) => context.with(active, step),
    )
  }
}

function endSpan(span: Span, thrown: unknown): void {
  const outcome = outcomeOf(thrown)
  span.setAttribute("signet.reason", outcome)
  // A refusal is the caller's error; only faults are the server's (OpenTelemetry's conventions for RPC).
  if (outcome === "INTERNAL") span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}
