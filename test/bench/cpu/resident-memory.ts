// Memory of other processes, from /proc.
import { readFileSync } from "node:fs"

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
