import type { MessagingStore } from "../store/store.ts"

/** What happens to the k-th operation of a store, counted from 0. */
export interface Fault {
  readonly at: number
  /** Whether it was done when it failed. */
  readonly when: "before" | "after"
  /** Whether the process ends with it: nothing works from then on, and a new one starts on what is there. */
  readonly ends: boolean
}

export class StoreFault extends Error {
  override readonly name = "StoreFault"
}

export interface FaultyStore extends MessagingStore {
  /** Operations so far. */
  readonly count: number
  readonly isDead: boolean
  /** True once the fault has come. */
  readonly hasFailed: boolean
  /** No faults from now on. */
  calm(): void
}

/** A store that fails as it is told: with no fault, it only counts. */
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
