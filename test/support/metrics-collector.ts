// An OpenTelemetry collector on loopback that stores the metrics which a server sends.
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

interface Point {
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[]
  readonly count?: string
  readonly asDouble?: number
}

interface Metric {
  readonly name: string
  readonly [kind: string]: unknown
}

interface Received {
  readonly resourceMetrics: readonly { readonly scopeMetrics: readonly { readonly metrics: readonly Metric[] }[] }[]
}

export interface MetricsCollector {
  readonly endpoint: string
  readonly received: readonly Received[]
  /** Answers further requests with this status. */
  answerWith(status: number): void
  /** @returns The sum of the matching points in the last request: their values, or the counts of a histogram. */
  last(name: string, labels?: Readonly<Record<string, string>>): number | undefined
  stop(): Promise<void>
}

export async function startMetricsCollector(): Promise<MetricsCollector> {
  const received: Received[] = []
  let status = 200
  const server = createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk
    })
    request.on("end", () => {
      received.push(JSON.parse(text))
      response.writeHead(status).end()
    })
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/metrics`,
    received,
    answerWith(next) {
      status = next
    },
    last(name, labels = {}) {
      const metrics = received.at(-1)?.resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics) ?? []
      const metric = metrics.flatMap((scope) => scope.metrics).find((one) => one.name === name)
      const data = (metric?.gauge ?? metric?.sum ?? metric?.histogram) as { dataPoints: readonly Point[] } | undefined
      const isWanted = ({ attributes }: Point) =>
        Object.entries(labels).every(([key, value]) =>
          attributes.some((one) => one.key === key && one.value.stringValue === value),
        )
      const points = data?.dataPoints.filter(isWanted) ?? []
      return points.length === 0
        ? undefined
        : points.reduce((sum, { asDouble, count }) => sum + (asDouble ?? Number(count)), 0)
    },
    async stop() {
      const closed = once(server, "close")
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
