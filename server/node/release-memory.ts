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

const mebibyte = 1_048_576
const idleShare = 0.05
const leastGrowth = 32 * mebibyte
/** A collection of a larger heap would delay the next call for longer than about half a second. */
const largestHeap = 256 * mebibyte

/**
 * True if a collection delays hardly any call, is short, and returns enough.
 *
 * @param totalBefore The size of the heap after the last collection, 0 before the first.
 */
export const isWorthCollecting = ({ busyShare, heapUsed, heapTotal }: Usage, totalBefore: number): boolean =>
  busyShare <= idleShare && heapUsed <= largestHeap && heapTotal - totalBefore >= leastGrowth

/** Returns a function for regular calls, which collects if the process was idle since the previous call. */
export function createMemoryRelease(): () => Promise<void> {
  let collect: (() => void) | undefined
  let loop = performance.eventLoopUtilization()
  let totalBefore = 0
  return async () => {
    const now = performance.eventLoopUtilization()
    const { utilization: busyShare } = performance.eventLoopUtilization(now, loop)
    loop = now
    if (!isWorthCollecting({ busyShare, ...process.memoryUsage() }, totalBefore)) return
    collect ??= fullCollection()
    collect()
    totalBefore = process.memoryUsage().heapTotal
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
