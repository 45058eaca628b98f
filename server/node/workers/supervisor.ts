// The supervisor of several workers behind one port. It accepts connections and hands them to the workers in turn,
// passes hints on, and serves one metrics page.

import cluster from "node:cluster"
import type { FastifyBaseLogger } from "fastify"
import { createAdmin } from "../admin.ts"
import type { Config, Environment } from "../config.ts"
import { createSupervisorMetrics } from "../metrics.ts"
import { addProbes } from "../probes.ts"
import { startMetricsExport } from "../telemetry/export-metrics.ts"
import type { MetricSnapshot } from "../telemetry/otlp-metrics.ts"
import { createMeasure } from "./measure.ts"
import { createPool, type Started, usualTiming } from "./pool.ts"
import { createRelay } from "./relay.ts"

export interface Supervised {
  readonly url: string
  readonly adminUrl: string
  /** Stops all workers gracefully. */
  close(): Promise<void>
}

/**
 * Starts the workers: the first one alone, because it migrates the database and reports invalid settings, then the
 * others.
 *
 * @param env The settings that `config` was parsed from.
 * @throws Error if the first worker ends before it is ready, or hangs in its start. One that ended has reported the
 *   reason.
 */
export async function supervise(config: Config, env: Environment, log: FastifyBaseLogger): Promise<Supervised> {
  const databaseUrl = config.databaseDirectUrl ?? config.databaseUrl
  if (databaseUrl === null) throw new Error("several workers need PostgreSQL")
  const onFault = (fault: unknown) => log.error({ err: fault }, "fault")
  const metrics = createSupervisorMetrics()
  cluster.setupPrimary({ exec: process.argv[1] ?? "", args: [] })
  const pool = createPool({
    log,
    env: { ...env, PORT: String(config.port), SIGNET_ISSUER: config.issuer },
    onMessage(message, worker) {
      if (message.is === "measured") measure.answered(worker, message.request, message.metrics)
      else relay.pass(message.payloads, worker)
    },
    greeting: () => ({ is: "listening", listening: relay.isListening() }),
    onReady: () => reportWorkers(),
    onEnded(worker) {
      measure.ended(worker)
      reportWorkers()
    },
    onReplaced: metrics.restarted,
    onHung: metrics.hung,
  })
  const areComplete = () => pool.ready() === config.workers
  const reportWorkers = () => void pool.broadcast({ is: "workers", complete: areComplete() })
  const measure = createMeasure({
    own: metrics.registry,
    ask: (request) => pool.broadcast({ is: "measure", request }),
  })
  const relay = createRelay({
    databaseUrl,
    broadcast: pool.broadcast,
    onFault,
  })
  const admin = createAdmin(() => measure.page(), measure.contentType)
  // The public port has no listener while no worker accepts calls.
  addProbes(admin, { workers: async () => pool.ready() > 0 }, { workers: areComplete })
  const read = async () => (await measure.snapshot()) as MetricSnapshot[]
  const stopExport = startMetricsExport({ endpoint: config.metricsEndpoint, read, onFault })
  const close = async () => {
    await stopExport()
    await pool.stop()
    await admin.close()
    await relay.close()
  }
  try {
    const url = urlOf(await pool.start(1))
    pool.keep()
    await Promise.all(Array.from({ length: config.workers - 1 }, (_, index) => pool.start(index + 2)))
    return { url, adminUrl: await admin.listen({ host: config.adminHost, port: config.adminPort }), close }
  } catch (error) {
    await close()
    throw error
  }
}

function urlOf(first: Started): string {
  if (first.is === "ready") return first.url
  if (first.is === "ended") throw new Error("the first worker did not start")
  throw new Error(
    `the first worker was not ready after ${usualTiming.startTicks} seconds and was ended: check that the database, ` +
      "the attachment store and the key files answer",
  )
}
