import type { HandlerContext, Interceptor } from "@connectrpc/connect"
import { Counter, collectDefaultMetrics, Histogram, Registry } from "prom-client"
import { outcomeOf } from "../rpc/outcome.ts"
import { settled } from "../rpc/settled.ts"

export interface Metrics {
  /** For Prometheus; other parts may add what they measure. */
  readonly registry: Registry
  /** Counts and times the calls. */
  readonly interceptor: Interceptor
  /** Counts and times the calls that a gate refuses, which no interceptor sees. */
  readonly gated: (gate: Gate) => Gate
}

type Gate = (context: HandlerContext) => Promise<void>

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** What is measured of calls. The labels have closed sets of values: methods of the contract, reasons, nothing of callers. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const durations = new Histogram({
    name: "signet_rpc_duration_seconds",
    help: "How long calls took; of streams, how long they were open.",
    labelNames: ["service", "method", "outcome"],
    buckets: seconds,
    registers: [registry],
  })
  const faults = new Counter({
    name: "signet_faults_total",
    help: "Calls that ended with INTERNAL.",
    labelNames: ["service", "method"],
    registers: [registry],
  })
  return {
    registry,
    gated: (gate) => async (context) => {
      const startedMs = performance.now()
      try {
        await gate(context)
      } catch (thrown) {
        const labels = { service: context.service.typeName, method: context.method.name }
        durations.observe({ ...labels, outcome: outcomeOf(thrown) }, (performance.now() - startedMs) / 1_000)
        throw thrown
      }
    },
    interceptor: (next) => (req) => {
      const startedMs = performance.now()
      const labels = { service: req.service.typeName, method: req.method.name }
      return settled(
        () => next(req),
        (thrown) => {
          const outcome = outcomeOf(thrown)
          durations.observe({ ...labels, outcome }, (performance.now() - startedMs) / 1_000)
          if (outcome === "INTERNAL") faults.inc(labels)
        },
      )
    },
  }
}
