import type { MessagingStore, Named, Space, Table } from "./store.ts"

/** Opens a store in memory, which ends with its process. */
export function openMemoryStore(): MessagingStore {
  const tables = new Map<string, Map<string, Uint8Array>>()
  const generations = new Map<Space, bigint>()
  const tableOf = (space: Space, table: Table): Map<string, Uint8Array> => {
    const name = `${space} ${table}`
    const found = tables.get(name) ?? new Map<string, Uint8Array>()
    tables.set(name, found)
    return found
  }
  const get = (space: Space, { table, key }: Named) => tableOf(space, table).get(key)
  return {
    durability: "memory",
    async read(space, wanted) {
      const values = wanted.map((named) => get(space, named)?.slice())
      return { generation: generations.get(space) ?? 0n, values }
    },
    async list(space, table, { after = "", limit = Number.POSITIVE_INFINITY } = {}) {
      const rows = [...tableOf(space, table)].filter(([key]) => key > after)
      rows.sort(([a], [b]) => (a < b ? -1 : 1))
      return rows.slice(0, limit).map(([key, value]) => ({ key, value: value.slice() }))
    },
    spaces: async () => [...generations.keys()].sort(),
    async transact(space, expectedGeneration, ops) {
      if ((generations.get(space) ?? 0n) !== expectedGeneration) return "GENERATION_MISMATCH"
      // Reverts the writes of a refused transaction.
      const before: (() => void)[] = []
      for (const op of ops) {
        const table = tableOf(op.space ?? space, op.table)
        const { key } = op
        const old = table.get(key)
        if (op.op === "create" && old !== undefined) {
          for (const undo of before.reverse()) undo()
          return "EXISTS"
        }
        before.push(() => (old === undefined ? table.delete(key) : table.set(key, old)))
        if (op.op === "remove") table.delete(key)
        else table.set(key, op.value.slice())
      }
      generations.set(space, expectedGeneration + 1n)
      return "ok"
    },
    close: async () => undefined,
  }
}
