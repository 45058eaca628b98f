// The worker processes: starts them, replaces one that ends, and stops them.

import cluster, { type Worker } from "node:cluster"
import type { FastifyBaseLogger } from "fastify"
import { closeUnaccepted } from "./handed-over.ts"
import { aliveEveryMs, type ToSupervisor, type ToWorker, workerVariable } from "./messages.ts"

const longestPauseMs = 30_000

/**
 * Bounds in ticks of the supervisor. Ticks, not time: a supervisor that was suspended, or got no CPU time, ticks late
 * too.
 */
export interface PoolTiming {
  readonly tickMs: number
  /** A ready worker that reports nothing for so long hangs, and is killed. */
  readonly silentTicks: number
  /** A worker that is not ready, and reports nothing for so long, hangs in its start, and gets SIGTERM. */
  readonly startTicks: number
  /** It is killed if it does not end within this time. */
  readonly endTicks: number
  /** A worker that ends earlier, or before it is ready, is replaced after a pause, which doubles each time. */
  readonly earlyMs: number
  readonly firstPauseMs: number
}

export const usualTiming: PoolTiming = {
  tickMs: aliveEveryMs,
  silentTicks: 10,
  startTicks: 60,
  endTicks: 5,
  earlyMs: 10_000,
  firstPauseMs: 500,
}

/** The first state that a started worker reaches. `hung` is a worker that was ended because it did not become ready. */
export type Started = { readonly is: "ready"; readonly url: string } | { readonly is: "ended" | "hung" }

interface PoolOptions {
  readonly log: FastifyBaseLogger
  /** The environment of a worker. */
  readonly env: Readonly<Record<string, string | undefined>>
  onMessage(message: Exclude<ToSupervisor, { is: "ready" | "alive" }>, worker: number): void
  /** Returns the first message to a worker that accepts calls. */
  greeting(): ToWorker
  onReady(): void
  onEnded(worker: number): void
  onReplaced(): void
  onHung(): void
  readonly timing?: PoolTiming
}

export interface Pool {
  /** @returns When the worker accepts calls, or has ended. */
  start(worker: number): Promise<Started>
  /** The number of workers that accept calls. */
  ready(): number
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
  /** Consecutive workers before this one that ended early, or before they were ready. */
  readonly failures: number
  isReady: boolean
  /** True after the SIGTERM to a worker that hangs in its start. */
  isHung: boolean
  /** Ticks since the last report. */
  silent: number
}

export function createPool(options: PoolOptions): Pool {
  const timing = options.timing ?? usualTiming
  const slots = new Map<number, Slot>()
  let isKeeping = false

  const send = ({ worker }: Slot, message: ToWorker) => worker.send(message, () => undefined)

  const fork = (number: number, failures = 0): Promise<Started> => {
    const worker = cluster.fork({ ...options.env, [workerVariable]: number })
    closeUnaccepted(worker)
    const startedAt = performance.now()
    const slot: Slot = { number, worker, startedAt, failures, isReady: false, isHung: false, silent: 0 }
    slots.set(number, slot)
    const { promise, resolve } = Promise.withResolvers<Started>()
    worker.on("message", (message: ToSupervisor) => {
      slot.silent = 0
      if (message.is === "alive") return
      if (message.is !== "ready") return options.onMessage(message, number)
      slot.isReady = true
      send(slot, options.greeting())
      options.onReady()
      resolve({ is: "ready", url: message.url })
    })
    worker.once("exit", (code, signal) => {
      slots.delete(number)
      options.onEnded(number)
      resolve({ is: slot.isHung ? "hung" : "ended" })
      if (!isKeeping) return
      options.log.error({ worker: number, ...(signal ? { signal } : { status: code }) }, "a worker ended")
      replace(slot)
    })
    return promise
  }

  const replace = ({ number, startedAt, failures, isReady }: Slot) => {
    const isEarly = !isReady || performance.now() - startedAt < timing.earlyMs
    const pause = isEarly ? Math.min(longestPauseMs, timing.firstPauseMs * 2 ** failures) : 0
    setTimeout(() => {
      if (!isKeeping) return
      options.onReplaced()
      void fork(number, isEarly ? failures + 1 : 0)
    }, pause)
  }

  const tick = () => {
    for (const slot of slots.values()) endIfHung(slot, options, timing)
  }
  const ticking = setInterval(tick, timing.tickMs)
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
    ready: () => [...slots.values()].filter(({ isReady }) => isReady).length,
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

/** Called once for each slot and tick. */
function endIfHung(slot: Slot, { log, onHung }: Pick<PoolOptions, "log" | "onHung">, timing: PoolTiming): void {
  const { number, worker, isReady } = slot
  slot.silent++
  if (isReady && slot.silent === timing.silentTicks) {
    log.error({ worker: number }, "a worker hangs and is killed")
    onHung()
    worker.process.kill("SIGKILL")
  } else if (!isReady && slot.silent === timing.startTicks) {
    log.error({ worker: number }, "a worker hangs in its start and is ended")
    onHung()
    slot.isHung = true
    worker.process.kill("SIGTERM")
  } else if (!isReady && slot.silent === timing.startTicks + timing.endTicks) worker.process.kill("SIGKILL")
}
