// Returns memory to the system while a process is idle. V8's heap grows during the start and under load, and does not
// shrink by itself in a process that allocates little: an idle server kept 60 of 170 MB.

import { performance } from "node:perf_hooks"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** The use of a process since the last question. Sizes are bytes. */
export interface Usage {
  /** Share of the time in which the event loop worked, from 0 to 1. */
  readonly busyShare: number
  readonly heapUsed: number
  readonly heapTotal: number
}

/** The last collection. */
export interface Collected {
  /** By performance.now(). */
  readonly atMs: number
  /** The size of the heap after it, in bytes. */
  readonly heapTotal: number
}

const mebibyte = 1_048_576
const idleShare = 0.05
const leastGrowth = 32 * mebibyte
/** The heap of a process with idle streams grows again within seconds, and V8 collects more often after a collection. */
const leastPauseMs = 600_000
/** A collection of a larger heap would delay the next call for longer than about half a second. */
const largestHeap = 256 * mebibyte

/**
 * True if a collection delays hardly any call, is short, and returns enough.
 *
 * @param last Undefined before the first collection.
 */
export function isWorthCollecting(usage: Usage, nowMs: number, last: Collected | undefined): boolean {
  const { busyShare, heapUsed, heapTotal } = usage
  if (last !== undefined && nowMs - last.atMs < leastPauseMs) return false
  return busyShare <= idleShare && heapUsed <= largestHeap && heapTotal - (last?.heapTotal ?? 0) >= leastGrowth
}

/** Returns a function for regular calls, which collects if the process was idle since the previous call. */
export function createMemoryRelease(): () => Promise<void> {
  let collect: (() => void) | undefined
  let loop = performance.eventLoopUtilization()
  let last: Collected | undefined
  return async () => {
    const now = performance.eventLoopUtilization()
    const { utilization: busyShare } = performance.eventLoopUtilization(now, loop)
    loop = now
    const atMs = performance.now()
    if (!isWorthCollecting({ busyShare, ...process.memoryUsage() }, atMs, last)) return
    collect ??= fullCollection()
    collect()
    last = { atMs, heapTotal: process.memoryUsage().heapTotal }
  }
}

/** V8 gives the function to contexts that are made while the flag is set. */
function fullCollection(): () => void {
  setFlagsFromString("--expose-gc")
  const gc: NodeJS.GCFunction = runInNewContext("gc")
  setFlagsFromString("--no-expose-gc")
  // The ordinary collection keeps the pages of the new space.
  return () => void gc({ execution: "sync", type: "major", flavor: "last-resort" })
}
