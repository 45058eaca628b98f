// In the page: the store in IndexedDB, for the suite of every store, which runs in Node.
import type { MessagingStore } from "@signet/client/messaging"
import { openIdbStore } from "@signet/client-web/messaging"

interface StorePage {
  open(database: string): Promise<{ id: number; durability: MessagingStore["durability"] }>
  read(id: number, ...args: Parameters<MessagingStore["read"]>): ReturnType<MessagingStore["read"]>
  list(id: number, ...args: Parameters<MessagingStore["list"]>): ReturnType<MessagingStore["list"]>
  spaces(id: number): Promise<string[]>
  transact(id: number, ...args: Parameters<MessagingStore["transact"]>): Promise<string>
  close(id: number): Promise<void>
  remove(database: string): Promise<void>
  /** Bytes that a store keeps of a view on a larger buffer. */
  keptOfView(id: number): Promise<number>
  /** Bumps the version, as a later program would. */
  upgrade(database: string): Promise<void>
  heard(id: number): string[]
}

declare global {
  interface Window {
    stores: StorePage
  }
}

const opened: MessagingStore[] = []
const heard: string[][] = []
const at = (id: number) => opened[id] ?? Promise.reject(new Error("not opened"))

/** Rethrows an error with its reason first: only the text crosses into Node. */
async function withReason<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new Error(`[${Object(error).reason ?? "?"}] ${error}`)
  }
}

function done(request: IDBOpenDBRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => {
      request.result?.close?.()
      resolve()
    }
    request.onerror = () => reject(request.error)
  })
}

window.stores = {
  open: (database) =>
    withReason(async () => {
      const store = await openIdbStore(database)
      const id = opened.push(store) - 1
      heard[id] = []
      store.watch?.((space) => heard[id]?.push(space))
      return { id, durability: store.durability }
    }),
  read: (id, ...args) => withReason(async () => (await at(id)).read(...args)),
  list: (id, ...args) => withReason(async () => (await at(id)).list(...args)),
  spaces: (id) => withReason(async () => (await at(id)).spaces()),
  transact: (id, ...args) => withReason(async () => (await at(id)).transact(...args)),
  close: async (id) => (await at(id)).close(),
  remove: (database) => done(indexedDB.deleteDatabase(database)),
  async keptOfView(id) {
    const around = new Uint8Array(1_000).fill(7)
    const value = around.subarray(10, 20)
    await (await at(id)).transact("cnv_view", 0n, [{ op: "put", table: "state", key: "x", value }])
    const { values } = await (await at(id)).read("cnv_view", [{ table: "state", key: "x" }])
    return values[0]?.buffer.byteLength ?? 0
  },
  upgrade: (database) => done(indexedDB.open(database, 99)),
  heard: (id) => heard[id] ?? [],
}
