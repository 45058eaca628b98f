// The supervisor of several workers behind one port. It accepts connections and hands them to the workers in turn,
// replaces a worker that ends, and serves one metrics page.

import cluster, { type Worker } from "node:cluster"
import type { FastifyBaseLogger } from "fastify"
import { createAdmin } from "../admin.ts"
import type { Config } from "../config.ts"
import { createSupervisorMetrics } from "../metrics.ts"
import { createMeasure } from "./measure.ts"
import { type ToSupervisor, type ToWorker, workerVariable } from "./messages.ts"
import { createRelay } from "./relay.ts"

/** A worker that ends earlier is replaced after a pause, which doubles each time. */
const earlyMs = 10_000
const pauseMs = { first: 500, longest: 30_000 }

export interface Supervised {
  readonly url: string
  readonly adminUrl: string
  /** Stops all workers gracefully. */
  close(): Promise<void>
}

interface Slot {
  readonly number: number
  readonly worker: Worker
  readonly startedAt: number
  /** Consecutive early ends before this worker. */
  readonly failures: number
  /** True once it accepts calls and messages. */
  isReady: boolean
}

/**
 * Starts the workers: the first one alone, because it migrates the database and reports invalid settings, then the
 * others.
 *
 * @throws Error if the first worker ends before it is ready. It has reported the reason.
 */
export async function supervise(config: Config, log: FastifyBaseLogger): Promise<Supervised> {
  const slots = new Map<number, Slot>()
  let isStopping = false
  const reachable = () => [...slots.values()].filter(({ worker, isReady }) => isReady && worker.isConnected())
  // A worker that has just ended gets nothing.
  const send = ({ worker }: Slot, message: ToWorker) => worker.send(message, () => undefined)
  const broadcast = (message: ToWorker, except?: number) => {
    for (const slot of reachable()) if (slot.number !== except) send(slot, message)
  }
  const metrics = createSupervisorMetrics()
  const measure = createMeasure({
    own: metrics.registry,
    ask(request) {
      broadcast({ is: "measure", request })
      return reachable().map(({ number }) => number)
    },
  })
  const databaseUrl = config.databaseDirectUrl ?? config.databaseUrl
  const onFault = (fault: unknown) => log.error({ err: fault }, "fault")
  const relay = databaseUrl === null ? undefined : createRelay({ databaseUrl, broadcast, onFault })

  cluster.setupPrimary({ exec: process.argv[1] ?? "", args: [] })
  const env = { ...process.env, PORT: String(config.port), SIGNET_ISSUER: config.issuer }

  /** Forks the worker of a slot. @returns Its URL once it is ready; undefined if it ended before. */
  const fork = (number: number, failures = 0): Promise<string | undefined> => {
    const worker = cluster.fork({ ...env, [workerVariable]: number })
    const slot: Slot = { number, worker, startedAt: performance.now(), failures, isReady: false }
    slots.set(number, slot)
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    worker.on("message", (message: ToSupervisor) => {
      if (message.is === "ready") {
        slot.isReady = true
        send(slot, { is: "listening", listening: relay?.isListening() ?? false })
        resolve(message.url)
      } else if (message.is === "measured") measure.answered(number, message.request, message.metrics)
      else relay?.pass(message.payloads, number)
    })
    worker.once("exit", (code, signal) => {
      measure.ended(number)
      resolve(undefined)
      slots.delete(number)
      if (isStopping) return
      metrics.restarted()
      log.error({ worker: number, ...(signal ? { signal } : { status: code }) }, "a worker ended")
      replace(slot)
    })
    return promise
  }

  const replace = ({ number, startedAt, failures }: Slot) => {
    const isEarly = performance.now() - startedAt < earlyMs
    const next = isEarly ? failures + 1 : 0
    const pause = isEarly ? Math.min(pauseMs.longest, pauseMs.first * 2 ** failures) : 0
    setTimeout(() => {
      if (!isStopping) void fork(number, next)
    }, pause)
  }

  const close = async () => {
    isStopping = true
    const ends = [...slots.values()].map(({ worker }) => new Promise<void>((resolve) => worker.once("exit", resolve)))
    broadcast({ is: "stop" })
    for (const { worker, isReady } of slots.values()) if (!isReady) worker.process.kill("SIGKILL")
    await Promise.all(ends)
    await admin.close()
    await relay?.close()
  }

  const admin = createAdmin(() => measure.page(), measure.contentType)
  const start = async (): Promise<Supervised> => {
    isStopping = true
    const url = await fork(1)
    if (url === undefined) throw new Error("the first worker did not start")
    isStopping = false
    await Promise.all(Array.from({ length: config.workers - 1 }, (_, index) => fork(index + 2)))
    return { url, adminUrl: await admin.listen({ host: config.adminHost, port: config.adminPort }), close }
  }
  try {
    return await start()
  } catch (error) {
    await close()
    throw error
  }
}
