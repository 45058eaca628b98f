// Sends the metrics to an OpenTelemetry collector once a minute. Values are cumulative, so a lost export loses nothing.
import { every } from "../every.ts"
import { encodeOtlpMetrics, type MetricSnapshot } from "./otlp-metrics.ts"

const everyMs = 60_000
const limitMs = 10_000

interface ExportOptions {
  /** OTLP/HTTP endpoint; null exports nothing. */
  readonly endpoint: string | null
  read(): Promise<readonly MetricSnapshot[]>
  onFault(fault: unknown): void
  readonly everyMs?: number
}

/** @returns A function that sends the metrics a last time and stops. */
export function startMetricsExport({ endpoint, read, onFault, ...of }: ExportOptions): () => Promise<void> {
  if (endpoint === null) return async () => undefined
  const startedAtMs = Date.now()
  const send = async () => {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(encodeOtlpMetrics(await read(), { startedAtMs, nowMs: Date.now() })),
      signal: AbortSignal.timeout(limitMs),
    })
    if (!response.ok) throw new Error(`the receiver of metrics answered ${response.status}`)
  }
  const stop = every(of.everyMs ?? everyMs, send, onFault)
  return async () => {
    await stop()
    await send().catch(onFault)
  }
}
