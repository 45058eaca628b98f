// One metrics page of all workers: counters and histograms are sums, which never fall when a worker ends.

import { AggregatorRegistry, type Registry } from "prom-client"
import type { MetricsSnapshot } from "./messages.ts"

/** A worker that does not answer within this time is represented by its last answer. */
const answerMs = 2_000

export interface Measured {
  /** Asks all workers. The page has their sums, and those of workers that ended. */
  page(): Promise<string>
  readonly contentType: string
  /** The same as objects. */
  snapshot(): Promise<MetricsSnapshot>
  answered(worker: number, request: number, metrics: MetricsSnapshot): void
  /** Keeps the counts of a worker that ended, as of its last answer. */
  ended(worker: number): void
}

interface MeasureOptions {
  /** The supervisor's own metrics. */
  readonly own: Registry
  /** Sends the request to all workers. @returns Their numbers. */
  ask(request: number): readonly number[]
}

export function createMeasure({ own, ask }: MeasureOptions): Measured {
  const last = new Map<number, MetricsSnapshot>()
  const waiting = new Map<number, { readonly missing: Set<number>; readonly done: () => void }>()
  let past: MetricsSnapshot = []
  let requests = 0

  const allAnswered = async (): Promise<void> => {
    const request = ++requests
    const { promise, resolve } = Promise.withResolvers<void>()
    const missing = new Set(ask(request))
    if (missing.size === 0) return
    waiting.set(request, { missing, done: resolve })
    const timer = setTimeout(resolve, answerMs)
    await promise
    clearTimeout(timer)
    waiting.delete(request)
  }

  const current = async (): Promise<Registry> => {
    await allAnswered()
    return summed([past, ...last.values(), await own.getMetricsAsJSON()])
  }

  return {
    contentType: own.contentType,
    page: async () => (await current()).metrics(),
    snapshot: async () => (await current()).getMetricsAsJSON(),
    answered(worker, request, metrics) {
      last.set(worker, metrics)
      const asked = waiting.get(request)
      asked?.missing.delete(worker)
      if (asked?.missing.size === 0) asked.done()
    },
    ended(worker) {
      const counts = (last.get(worker) ?? []).filter(isCount)
      last.delete(worker)
      past = summed([past, counts]).getMetricsAsArray()
      for (const { missing, done } of waiting.values()) {
        missing.delete(worker)
        if (missing.size === 0) done()
      }
    },
  }
}

const summed = (snapshots: readonly MetricsSnapshot[]): Registry =>
  AggregatorRegistry.aggregate(snapshots.map((snapshot) => [...snapshot]))

/** Values that only grow. A gauge of a worker that ended is nothing. */
const isCount = (metric: object): boolean => "type" in metric && /^(counter|histogram)$/.test(String(metric.type))
