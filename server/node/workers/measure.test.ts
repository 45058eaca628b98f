import { Counter, Gauge, Histogram, Registry } from "prom-client"
import { expect, test } from "vitest"
import { createMeasure } from "./measure.ts"

/** A worker's metrics with its values. */
async function snapshot(calls: number, seconds: number, lag: number): Promise<readonly object[]> {
  const registry = new Registry()
  const registers = [registry]
  new Counter({ name: "calls_total", help: "h", labelNames: ["method"], registers }).inc({ method: "A" }, calls)
  new Histogram({ name: "duration_seconds", help: "h", buckets: [1, 2], registers }).observe(seconds)
  new Gauge({ name: "open", help: "h", registers }).set(calls)
  new Gauge({ name: "lag", help: "h", aggregator: "max", registers }).set(lag)
  return registry.getMetricsAsJSON()
}

test("the page has sums of counters, histograms and gauges, and the greatest lag", async () => {
  const snapshots = [await snapshot(3, 0.5, 9), await snapshot(4, 1.5, 2)]
  const measure = createMeasure({
    own: new Registry(),
    ask(request) {
      queueMicrotask(() => snapshots.forEach((metrics, index) => void measure.answered(index, request, metrics)))
      return [0, 1]
    },
  })
  const page = await measure.page()
  for (const line of [
    'calls_total{method="A"} 7',
    'duration_seconds_bucket{le="1"} 1',
    'duration_seconds_bucket{le="2"} 2',
    "duration_seconds_sum 2",
    "open 7",
    "lag 9",
  ]) {
    expect(page.split("\n")).toContain(line)
  }
})

test("counts of a worker that ended stay, and its gauges go", async () => {
  let alive = [0, 1]
  const snapshots = [await snapshot(3, 0.5, 9), await snapshot(4, 1.5, 2)]
  const measure = createMeasure({
    own: new Registry(),
    ask(request) {
      queueMicrotask(() => {
        for (const index of alive) measure.answered(index, request, snapshots[index] ?? [])
      })
      return alive
    },
  })
  await measure.page()
  alive = [1]
  measure.ended(0)
  const lines = (await measure.page()).split("\n")
  for (const line of ['calls_total{method="A"} 7', "duration_seconds_sum 2", "open 4", "lag 2"])
    expect(lines).toContain(line)
  // A second worker of the same number adds to them.
  alive = [0, 1]
  expect((await measure.page()).split("\n")).toContain('calls_total{method="A"} 10')
})

test("a worker that ends while it is asked is not waited for", async () => {
  const measure = createMeasure({ own: new Registry(), ask: () => [0] })
  const page = measure.page()
  measure.ended(0)
  expect(await page).toBe("\n")
})
