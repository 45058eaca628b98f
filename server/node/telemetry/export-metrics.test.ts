// Contract-tested with a fake collector.
import { Counter, Gauge, Histogram, Registry } from "prom-client"
import { expect, test } from "vitest"
import { startMetricsCollector } from "../../../test/support/metrics-collector.ts"
import { startMetricsExport } from "./export-metrics.ts"
import { encodeOtlpMetrics, type MetricSnapshot } from "./otlp-metrics.ts"

async function snapshot(): Promise<readonly MetricSnapshot[]> {
  const registers = [new Registry()]
  const [registry] = registers
  new Counter({ name: "calls_total", help: "Calls.", labelNames: ["method"], registers }).inc({ method: "A" }, 3)
  new Gauge({ name: "open", help: "Open.", registers }).set(2)
  const histogram = new Histogram({
    name: "seconds",
    help: "Time.",
    labelNames: ["method"],
    buckets: [1, 2],
    registers,
  })
  for (const value of [0.5, 1.5, 1.75, 9]) histogram.observe({ method: "A" }, value)
  return (await registry?.getMetricsAsJSON()) as unknown as readonly MetricSnapshot[]
}

test("counters are cumulative sums, gauges are gauges, and buckets hold what is between two bounds", async () => {
  const encoded = encodeOtlpMetrics(await snapshot(), { startedAtMs: 1_000, nowMs: 61_000 })
  const times = { startTimeUnixNano: "1000000000", timeUnixNano: "61000000000" }
  const attributes = [{ key: "method", value: { stringValue: "A" } }]
  expect(encoded).toEqual({
    resourceMetrics: [
      {
        resource: { attributes: [{ key: "service.name", value: { stringValue: "signet" } }] },
        scopeMetrics: [
          {
            scope: { name: "signet" },
            metrics: [
              {
                name: "calls_total",
                description: "Calls.",
                sum: {
                  dataPoints: [{ ...times, attributes, asDouble: 3 }],
                  aggregationTemporality: 2,
                  isMonotonic: true,
                },
              },
              {
                name: "open",
                description: "Open.",
                gauge: { dataPoints: [{ ...times, attributes: [], asDouble: 2 }] },
              },
              {
                name: "seconds",
                description: "Time.",
                histogram: {
                  dataPoints: [
                    {
                      ...{ ...times, attributes, sum: 12.75, count: "4" },
                      ...{ explicitBounds: [1, 2], bucketCounts: ["1", "2", "1"] },
                    },
                  ],
                  aggregationTemporality: 2,
                },
              },
            ],
          },
        ],
      },
    ],
  })
})

test("metrics are sent periodically and a last time at the end, and a failing collector is reported", async () => {
  const collector = await startMetricsCollector()
  const faults: unknown[] = []
  const stop = startMetricsExport({
    ...{ endpoint: collector.endpoint, read: snapshot, everyMs: 20 },
    onFault: (fault) => faults.push(fault),
  })
  await expect.poll(() => collector.received.length).toBeGreaterThan(1)
  expect(faults).toEqual([])
  collector.answerWith(503)
  await expect.poll(() => faults.length).toBeGreaterThan(0)
  expect(String(faults[0])).toContain("503")
  collector.answerWith(200)
  await stop()
  const count = collector.received.length
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(collector.received).toHaveLength(count)
  expect(collector.last("calls_total", { method: "A" })).toBe(3)
  expect(collector.last("seconds")).toBe(4)
  await collector.stop()
})
