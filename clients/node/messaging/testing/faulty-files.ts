import type { FolderFiles } from "../folder-files.ts"

/** The fault at the k-th file operation, counted from 0. */
export interface FileFault {
  readonly at: number
  /** Whether the operation took effect before it failed; `torn`: half of the bytes were written. */
  readonly when: "before" | "after" | "torn"
  /** True if the process ends with it. */
  readonly ends: boolean
}

interface FaultyFiles extends FolderFiles {
  readonly count: number
  readonly isDead: boolean
}

/** Files with a fault; without one they only count operations. */
export function faultyFiles(files: FolderFiles, fault?: FileFault): FaultyFiles {
  let count = 0
  let isDead = false
  async function operate<T>(work: () => Promise<T>, half?: () => Promise<void>): Promise<T> {
    if (isDead) throw new Error("the process has died")
    const isFault = fault !== undefined && count === fault.at
    count++
    if (!isFault) return work()
    isDead = fault.ends
    if (fault.when === "torn") await half?.()
    if (fault.when === "after") await work()
    throw new Error(`operation ${fault.at} failed`)
  }
  return {
    get count() {
      return count
    },
    get isDead() {
      return isDead
    },
    make: () => operate(() => files.make()),
    list: () => operate(() => files.list()),
    read: (name) => operate(() => files.read(name)),
    write: (name, bytes) =>
      operate(
        () => files.write(name, bytes),
        () => files.write(name, bytes.subarray(0, bytes.length / 2)),
      ),
    name: (file, name) => operate(() => files.name(file, name)),
    remove: (name) => operate(() => files.remove(name)),
    sync: () => operate(() => files.sync()),
  }
}
