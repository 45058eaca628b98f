// The memory of a process with libsignet, from Linux's files about it.
import { readFileSync, writeFileSync } from "node:fs"

/** The engine reserves these addresses, and makes the used part of them accessible. */
const reservedBytes = 512 * 1024 * 1024

/** Bytes of the engine's linear memory. @throws Error if the process has no client. */
export function linearBytes(pid: number): number {
  const maps = readFileSync(`/proc/${pid}/maps`, "latin1").split("\n")
  const areas = maps.flatMap((line) => {
    const [, from, to, access] = /^([0-9a-f]+)-([0-9a-f]+) (\S{4}) /.exec(line) ?? []
    return from === undefined || to === undefined ? [] : [{ from: parseInt(from, 16), to: parseInt(to, 16), access }]
  })
  for (const [i, used] of areas.entries()) {
    const rest = areas[i + 1]
    if (used.access !== "rw-p" || rest?.access !== "---p" || rest.from !== used.to) continue
    if (rest.to - used.from === reservedBytes) return used.to - used.from
  }
  throw new Error("the process has no engine")
}

const statusOf = (pid: number, field: "VmRSS" | "VmHWM" | "RssAnon"): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]) * 1_024

export const residentBytes = (pid: number): number => statusOf(pid, "VmRSS")

/** Without the pages of files, such as those of shared libraries. */
export const anonymousBytes = (pid: number): number => statusOf(pid, "RssAnon")

/** The most resident bytes since `forgetPeak`. */
export const peakBytes = (pid: number): number => statusOf(pid, "VmHWM")

export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, "5")
