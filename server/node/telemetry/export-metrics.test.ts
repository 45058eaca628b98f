// Contract-tested with a fake collector.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Counter, Gauge, Histogram, Registry } from "prom-client"
import { expect, test } from "vitest"
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
  const bodies: unknown[] = []
  let status = 200
  const collector = createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk
    })
    request.on("end", () => {
      bodies.push(JSON.parse(text))
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve))
  const faults: unknown[] = []
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1/metrics`
  const stop = startMetricsExport({ endpoint, read: snapshot, onFault: (fault) => faults.push(fault), everyMs: 20 })
  await expect.poll(() => bodies.length).toBeGreaterThan(1)
  expect(faults).toEqual([])
  status = 503
  await expect.poll(() => faults.length).toBeGreaterThan(0)
  expect(String(faults[0])).toContain("503")
  status = 200
  await stop()
  const count = bodies.length
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(bodies).toHaveLength(count)
  await new Promise((resolve) => collector.close(resolve))
})
