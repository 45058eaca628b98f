// Encodes metrics as an OTLP export request in JSON: names and labels are those of the Prometheus page.
// See opentelemetry-proto, collector/metrics/v1/metrics_service.proto.

interface Value {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
  /** Of a histogram: its name with `_bucket`, `_sum` or `_count`. */
  readonly metricName?: string
}

/** A metric as prom-client's `getMetricsAsJSON` returns it. */
export interface MetricSnapshot {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly Value[]
}

interface Interval {
  readonly startedAtMs: number
  readonly nowMs: number
}

/** Sums since the start of the process. */
const cumulative = 2

export function encodeOtlpMetrics(metrics: readonly MetricSnapshot[], { startedAtMs, nowMs }: Interval): object {
  const times = { startTimeUnixNano: nanos(startedAtMs), timeUnixNano: nanos(nowMs) }
  return {
    resourceMetrics: [
      {
        resource: { attributes: attributesOf({ "service.name": "signet" }) },
        scopeMetrics: [{ scope: { name: "signet" }, metrics: metrics.map((metric) => encodeMetric(metric, times)) }],
      },
    ],
  }
}

function encodeMetric({ name, help, type, values }: MetricSnapshot, times: object): object {
  const described = { name, description: help }
  if (type === "histogram") {
    return {
      ...described,
      histogram: { dataPoints: histogramPoints(values, times), aggregationTemporality: cumulative },
    }
  }
  const dataPoints = values.map(({ value, labels }) => ({
    ...times,
    attributes: attributesOf(labels),
    asDouble: value,
  }))
  if (type !== "counter") return { ...described, gauge: { dataPoints } }
  return { ...described, sum: { dataPoints, aggregationTemporality: cumulative, isMonotonic: true } }
}

interface Point {
  readonly attributes: object
  readonly bounds: number[]
  readonly cumulativeCounts: number[]
  sum: number
  count: number
}

function histogramPoints(values: readonly Value[], times: object): readonly object[] {
  const points = new Map<string, Point>()
  for (const { value, labels, metricName = "" } of values) {
    const { le, ...others } = labels
    const key = JSON.stringify(Object.entries(others).toSorted())
    const fresh = { attributes: attributesOf(others), bounds: [], cumulativeCounts: [], sum: 0, count: 0 }
    const point: Point = points.get(key) ?? fresh
    points.set(key, point)
    if (metricName.endsWith("_sum")) point.sum = value
    else if (metricName.endsWith("_count")) point.count = value
    else if (le !== undefined && le !== "+Inf") {
      point.bounds.push(Number(le))
      point.cumulativeCounts.push(value)
    }
  }
  return [...points.values()].map(({ attributes, bounds, cumulativeCounts, sum, count }) => ({
    ...{ ...times, attributes, sum, count: String(count), explicitBounds: bounds },
    // Prometheus counts what is below each bound, OTLP what is between two.
    bucketCounts: [...cumulativeCounts, count].map((each, index, all) => String(each - (all[index - 1] ?? 0))),
  }))
}

const attributesOf = (labels: Readonly<Record<string, string | number>>): object =>
  Object.entries(labels).map(([key, value]) => ({ key, value: { stringValue: String(value) } }))

/** 64-bit integers are texts in JSON. */
const nanos = (ms: number): string => `${Math.trunc(ms)}000000`
