// The worker processes: starts them, replaces one that ends, and stops them.

import cluster, { type Worker } from "node:cluster"
import type { FastifyBaseLogger } from "fastify"
import { closeUnaccepted } from "./handed-over.ts"
import { aliveEveryMs, type ToSupervisor, type ToWorker, workerVariable } from "./messages.ts"

/** A worker that ends earlier is replaced after a pause, which doubles each time. */
const earlyMs = 10_000
const pauseMs = { first: 500, longest: 30_000 }
/**
 * A ready worker that reports nothing for so many ticks of the supervisor hangs. Ticks, not time: a supervisor that was
 * suspended, or got no CPU time, ticks late too.
 */
const silentTicks = 10

interface PoolOptions {
  readonly log: FastifyBaseLogger
  /** The environment of a worker. */
  readonly env: Readonly<Record<string, string | undefined>>
  onMessage(message: Exclude<ToSupervisor, { is: "ready" | "alive" }>, worker: number): void
  /** Returns the first message to a worker that accepts calls. */
  greeting(): ToWorker
  onEnded(worker: number): void
  onReplaced(): void
  onHung(): void
}

export interface Pool {
  /** @returns The worker's URL once it accepts calls; undefined if it ended before. */
  start(worker: number): Promise<string | undefined>
  /** From now on a worker that ends is replaced. */
  keep(): void
  /** Sends to the workers that accept calls. @returns Their numbers. */
  broadcast(message: ToWorker, except?: number): readonly number[]
  /** Stops all workers gracefully, and those that accept no calls yet at once. */
  stop(): Promise<void>
}

interface Slot {
  readonly number: number
  readonly worker: Worker
  readonly startedAt: number
  /** Consecutive early ends before this worker. */
  readonly failures: number
  isReady: boolean
  /** Ticks since the last report. */
  silent: number
}

export function createPool(options: PoolOptions): Pool {
  const slots = new Map<number, Slot>()
  let isKeeping = false

  const send = ({ worker }: Slot, message: ToWorker) => worker.send(message, () => undefined)

  const fork = (number: number, failures = 0): Promise<string | undefined> => {
    const worker = cluster.fork({ ...options.env, [workerVariable]: number })
    closeUnaccepted(worker)
    const slot: Slot = { number, worker, startedAt: performance.now(), failures, isReady: false, silent: 0 }
    slots.set(number, slot)
    const { promise, resolve } = Promise.withResolvers<string | undefined>()
    worker.on("message", (message: ToSupervisor) => {
      slot.silent = 0
      if (message.is === "alive") return
      if (message.is !== "ready") return options.onMessage(message, number)
      slot.isReady = true
      send(slot, options.greeting())
      resolve(message.url)
    })
    worker.once("exit", (code, signal) => {
      slots.delete(number)
      options.onEnded(number)
      resolve(undefined)
      if (!isKeeping) return
      options.log.error({ worker: number, ...(signal ? { signal } : { status: code }) }, "a worker ended")
      replace(slot)
    })
    return promise
  }

  const replace = ({ number, startedAt, failures }: Slot) => {
    const isEarly = performance.now() - startedAt < earlyMs
    const pause = isEarly ? Math.min(pauseMs.longest, pauseMs.first * 2 ** failures) : 0
    setTimeout(() => {
      if (!isKeeping) return
      options.onReplaced()
      void fork(number, isEarly ? failures + 1 : 0)
    }, pause)
  }

  const tick = () => {
    for (const slot of slots.values()) {
      if (!slot.isReady || ++slot.silent !== silentTicks) continue
      options.log.error({ worker: slot.number }, "a worker hangs and is killed")
      options.onHung()
      slot.worker.process.kill("SIGKILL")
    }
  }
  const ticking = setInterval(tick, aliveEveryMs)
  // A worker that hangs does not see the end of its supervisor.
  const killAll = () => {
    for (const { worker } of slots.values()) worker.process.kill("SIGKILL")
  }
  process.once("exit", killAll)

  const broadcast = (message: ToWorker, except?: number) => {
    const reachable = [...slots.values()].filter(({ worker, isReady }) => isReady && worker.isConnected())
    const to = reachable.filter(({ number }) => number !== except)
    for (const slot of to) send(slot, message)
    return to.map(({ number }) => number)
  }

  return {
    start: (number) => fork(number),
    keep() {
      isKeeping = true
    },
    broadcast,
    async stop() {
      isKeeping = false
      const ends = [...slots.values()].map(({ worker }) => new Promise<void>((resolve) => worker.once("exit", resolve)))
      broadcast({ is: "stop" })
      for (const { worker, isReady } of slots.values()) if (!isReady) worker.process.kill("SIGKILL")
      await Promise.all(ends)
      clearInterval(ticking)
      process.off("exit", killAll)
    },
  }
}
