import { MessagingError } from "../errors.ts"
import type { MessagingStore } from "./store.ts"

/** Wraps a store so that every call after `close` is rejected. */
export function closable(store: MessagingStore): MessagingStore {
  let isClosed = false
  async function whileOpen<T>(work: () => Promise<T>): Promise<T> {
    if (isClosed) throw new MessagingError("CLOSED", "the messenger was closed")
    return work()
  }
  return {
    durability: store.durability,
    read: (...args) => whileOpen(() => store.read(...args)),
    list: (...args) => whileOpen(() => store.list(...args)),
    spaces: () => whileOpen(() => store.spaces()),
    transact: (...args) => whileOpen(() => store.transact(...args)),
    ...(store.watch && { watch: (listener) => store.watch?.(listener) }),
    inTurn: (space, work) => whileOpen(() => store.inTurn?.(space, work) ?? work()),
    async close() {
      if (isClosed) return
      isClosed = true
      await store.close()
    },
  }
}
