import type { MessagingStore } from "../store/store.ts"

/** A fault in the k-th operation of a store, counted from 0. */
export interface Fault {
  readonly at: number
  /** Whether the operation fails before or after its effect. */
  readonly when: "before" | "after"
  /**
   * True if the process ends with the fault: every later operation fails, and another process opens the stored data.
   */
  readonly ends: boolean
}

export class StoreFault extends Error {
  override readonly name = "StoreFault"
}

export interface FaultyStore extends MessagingStore {
  /** Operations so far. */
  readonly count: number
  readonly isDead: boolean
  /** True once the fault has occurred. */
  readonly hasFailed: boolean
  /** No faults from now on. */
  calm(): void
}

/** Injects a fault into a store. Without one, it only counts operations. */
export function faultyStore(store: MessagingStore, fault?: Fault): FaultyStore {
  let count = 0
  let isDead = false
  let isCalm = false
  let hasFailed = false
  async function operate<T>(work: () => Promise<T>): Promise<T> {
    if (isDead) throw new StoreFault("the process has died")
    const isFault = fault !== undefined && count === fault.at && !isCalm
    count++
    if (!isFault) return work()
    hasFailed = true
    isDead = fault.ends
    if (fault.when === "after") await work()
    throw new StoreFault(`operation ${fault.at} failed ${fault.when} it was done`)
  }
  return {
    durability: store.durability,
    get count() {
      return count
    },
    get isDead() {
      return isDead
    },
    get hasFailed() {
      return hasFailed
    },
    calm() {
      isCalm = true
    },
    read: (...args) => operate(() => store.read(...args)),
    list: (...args) => operate(() => store.list(...args)),
    spaces: () => operate(() => store.spaces()),
    transact: (...args) => operate(() => store.transact(...args)),
    close: async () => undefined,
  }
}
