// The side of a worker: hints and metrics go over the channel to the supervisor.

import cluster from "node:cluster"
import type { Registry } from "prom-client"
import type { Bus, BusOptions } from "../../wakeups/bus.ts"
import { decode, encode, type News } from "../../wakeups/payload.ts"
import { aliveEveryMs, type ToSupervisor, type ToWorker, workerVariable } from "./messages.ts"

/** The parts that a program shares with the other workers of its port. */
export interface Siblings {
  readonly number: number
  /** True in one worker, which sweeps expired rows for all of them. */
  readonly isFirst: boolean
  /** Opens a bus over the supervisor, which listens to the database for all workers. */
  openBus(options: BusOptions): Bus
  /** Runs work that may take longer than a start, and reports meanwhile. */
  reportDuring<T>(work: () => Promise<T>): Promise<T>
  /** Answers the supervisor's requests for metrics. */
  publishMetrics(registry: Registry): void
  /** Reports that the program accepts calls. */
  ready(url: string): void
  /** False while a worker of the port accepts no calls. */
  areComplete(): boolean
  onStop(stop: () => void): void
}

/** @returns Undefined in a process that is no worker. */
export function siblingsOf(env: Readonly<Record<string, string | undefined>>): Siblings | undefined {
  if (!cluster.isWorker) return undefined
  const number = Number(env[workerVariable] ?? 1)
  let areComplete = true
  onMessage("workers", ({ complete }) => {
    areComplete = complete
  })
  const reportRegularly = () => setInterval(() => report({ is: "alive" }), aliveEveryMs).unref()
  return {
    number,
    isFirst: number === 1,
    openBus: openRelayedBus,
    async reportDuring(work) {
      const timer = reportRegularly()
      try {
        return await work()
      } finally {
        clearInterval(timer)
      }
    },
    publishMetrics: (registry) =>
      onMessage("measure", async ({ request }) => {
        report({ is: "measured", request, metrics: await registry.getMetricsAsJSON() })
      }),
    ready(url) {
      report({ is: "ready", url })
      reportRegularly()
    },
    areComplete: () => areComplete,
    onStop: (stop) => onMessage("stop", stop),
  }
}

function openRelayedBus({ origin, onHints, onListening }: BusOptions): Bus {
  let isListening = false
  let isClosed = false
  let waiting: News[] = []
  const flush = () => {
    if (waiting.length === 0) return
    report({ is: "hints", payloads: encode(origin, waiting) })
    waiting = []
  }
  onMessage("hints", ({ payloads }) => {
    if (!isClosed) for (const payload of payloads) onHints(decode(payload).hints)
  })
  onMessage("listening", ({ listening }) => {
    isListening = listening
    // Hints may have been lost before.
    if (listening && !isClosed) onListening()
  })
  return {
    send(hints) {
      if (isClosed) return
      if (waiting.length === 0) setImmediate(flush)
      waiting.push(...hints)
    },
    isListening: () => isListening,
    async close() {
      flush()
      isClosed = true
    },
  }
}

function onMessage<Is extends ToWorker["is"]>(
  is: Is,
  listener: (message: Extract<ToWorker, { is: Is }>) => unknown,
): void {
  process.on("message", (message: ToWorker) => {
    if (message.is === is) listener(message as Extract<ToWorker, { is: Is }>)
  })
}

/** The channel closes when the supervisor ends, and the worker with it. */
function report(message: ToSupervisor): void {
  if (process.connected) process.send?.(message, undefined, {}, () => undefined)
}
