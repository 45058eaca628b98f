// A store that fails, or hangs, before or after its k-th operation.
import type { ByteStorage } from "../ports.ts"

export type FaultKind = "fails before" | "fails after" | "stops before" | "stops after"
export const faultKinds: readonly FaultKind[] = ["fails before", "fails after", "stops before", "stops after"]

interface FaultyStorage extends ByteStorage {
  /** Resolves when the operation was called. */
  readonly met: Promise<true>
  /** Starts counting: the fault is at the operation after `k` others. */
  arm(k: number, kind: FaultKind): void
}

/** @param stop How to hang: by default the operation never ends. */
export function faultyStorage(storage: ByteStorage, stop = () => new Promise<never>(() => {})): FaultyStorage {
  let left = Number.POSITIVE_INFINITY
  let kind: FaultKind = "fails before"
  let meet = (_: true) => {}
  let met = new Promise<true>(() => {})

  async function guarded<T>(work: () => Promise<T>): Promise<T> {
    if (left-- !== 0) return work()
    meet(true)
    if (kind === "fails after" || kind === "stops after") await work()
    if (kind.startsWith("stops")) return stop()
    throw new Error("the disk is full")
  }
  return {
    get met() {
      return met
    },
    arm(k, as) {
      left = k
      kind = as
      met = new Promise((resolve) => {
        meet = resolve
      })
    },
    read: (name) => guarded(() => storage.read(name)),
    write: (name, bytes, expected) => guarded(() => storage.write(name, bytes, expected)),
    remove: (name, expected) => guarded(() => storage.remove(name, expected)),
  }
}
