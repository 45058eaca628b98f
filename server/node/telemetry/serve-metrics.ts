// Makes the metrics of a program available: on a page and by export, or to the supervisor of several workers.
import { createAdmin } from "../admin.ts"
import type { Config } from "../config.ts"
import type { Metrics } from "../metrics.ts"
import type { Siblings } from "../workers/worker.ts"
import { startMetricsExport } from "./export-metrics.ts"
import type { MetricSnapshot } from "./otlp-metrics.ts"

interface ServeOptions {
  readonly config: Pick<Config, "adminHost" | "adminPort" | "metricsEndpoint">
  readonly siblings: Siblings | undefined
  readonly metrics: Pick<Metrics, "registry">
  onFault(fault: unknown): void
  onClose(stop: () => Promise<void> | void): void
}

/** @returns The URL of the page; empty in a worker. */
export async function serveMetrics({ config, siblings, metrics, onFault, onClose }: ServeOptions): Promise<string> {
  const { registry } = metrics
  if (siblings) {
    siblings.publishMetrics(registry)
    return ""
  }
  const admin = createAdmin(() => registry.metrics(), registry.contentType)
  onClose(() => admin.close())
  const read = async () => (await registry.getMetricsAsJSON()) as unknown as MetricSnapshot[]
  onClose(startMetricsExport({ endpoint: config.metricsEndpoint, read, onFault }))
  return admin.listen({ host: config.adminHost, port: config.adminPort })
}
