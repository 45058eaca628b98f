// A copy of a messenger's store, like a backup or a disk image.
import { openMemoryStore } from "../../../clients/core/messaging/store/memory.ts"
import type { MessagingStore, Table } from "../../../clients/core/messaging/store/store.ts"

/** All tables: a missing one is an error of types. */
const isTable: Record<Table, true> = {
  ...{ header: true, device: true, keyPackage: true, usedKeyPackage: true, creation: true, peer: true, history: true },
  ...{ conversation: true, state: true, tree: true, staged: true, intent: true, outbox: true, timeline: true },
  ...{ tail: true, resent: true, attachment: true, upload: true },
}
const tables = Object.keys(isTable) as Table[]

/** A consistent copy of everything, including generations. */
export async function copyOf(store: MessagingStore): Promise<MessagingStore> {
  const copy = openMemoryStore()
  for (const space of await store.spaces()) {
    const { generation } = await store.read(space, [])
    for (let at = 0n; at < generation - 1n; at++) await copy.transact(space, at, [])
    const found = await Promise.all(
      tables.map(async (table) =>
        (await store.list(space, table)).map(({ key, value }) => ({ op: "put", table, key, value }) as const),
      ),
    )
    await copy.transact(space, generation - 1n, found.flat())
  }
  return copy
}
