// A store in memory that returns to an earlier state, as a disk image that is restored does.
import { openMemoryStore } from "../../clients/core/messaging/store/memory.ts"
import type { MessagingStore } from "../../clients/core/messaging/store/store.ts"

export interface RewindableStore extends MessagingStore {
  /** Copies the store. @returns Puts the copy back; no process may use the store meanwhile. */
  copy(): () => Promise<void>
}

export function openRewindableStore(): RewindableStore {
  let inner = openMemoryStore()
  const done: Parameters<MessagingStore["transact"]>[] = []
  return {
    durability: inner.durability,
    read: (...args) => inner.read(...args),
    list: (...args) => inner.list(...args),
    spaces: () => inner.spaces(),
    async transact(...args) {
      const result = await inner.transact(...args)
      if (result === "ok") done.push(args)
      return result
    },
    close: () => inner.close(),
    copy() {
      const { length } = done
      return async () => {
        done.length = length
        inner = openMemoryStore()
        for (const args of done) await inner.transact(...args)
      }
    },
  }
}
