// Memory of other processes, from /proc.
import { readFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"

/** A process and its children. */
export function processesOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim()
  return [pid, ...(children === "" ? [] : children.split(" ").map(Number))]
}

/** The proportional set size of a process and its children in megabytes: shared pages count once. */
export function residentMegabytes(pid: number): number {
  const kilobytes = processesOf(pid).map((one) =>
    Number(/^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, "utf8"))?.[1] ?? Number.NaN),
  )
  return kilobytes.reduce((sum, one) => sum + one, 0) / 1_024
}

/**
 * Waits until idle servers have returned memory to the system (server/node/release-memory.ts).
 *
 * @param seconds At least 6 for the first return after a start or a load.
 */
export const settle = (seconds: number): Promise<void> => sleep(seconds * 1_000)
