import type { Space, Table } from "@signet/client/messaging"
import type { Left } from "./folder-file.ts"

interface Sorted {
  readonly values: Map<string, Uint8Array>
  /** Ascending. */
  readonly keys: string[]
}

/** The rows of a store in memory, as of one transaction. */
export interface FolderRows {
  get(space: Space, table: Table, key: string): Uint8Array | undefined
  list(space: Space, table: Table, after: string, limit: number): { key: string; value: Uint8Array }[]
  generationOf(space: Space): bigint
  spaces(): Space[]
  apply(left: Left): void
}

export function folderRows(): FolderRows {
  const tables = new Map<string, Sorted>()
  const generations = new Map<Space, bigint>()
  const tableOf = (space: Space, table: string): Sorted => {
    const name = `${space} ${table}`
    const found = tables.get(name) ?? { values: new Map(), keys: [] }
    tables.set(name, found)
    return found
  }
  return {
    get: (space, table, key) => tableOf(space, table).values.get(key),
    list(space, table, after, limit) {
      const { keys, values } = tableOf(space, table)
      const start = after === "" ? 0 : placeOf(keys, after) + (values.has(after) ? 1 : 0)
      return keys.slice(start, start + limit).flatMap((key) => {
        const value = values.get(key)
        return value === undefined ? [] : [{ key, value }]
      })
    },
    generationOf: (space) => generations.get(space) ?? 0n,
    spaces: () => [...generations.keys()].sort(),
    apply(left) {
      for (const [space, generation] of left.generations) generations.set(space, generation)
      for (const { space, table, key, value } of left.rows) {
        const { keys, values } = tableOf(space, table)
        const isNew = !values.has(key)
        if (value !== undefined) {
          values.set(key, value)
          if (isNew) keys.splice(placeOf(keys, key), 0, key)
        } else if (values.delete(key)) keys.splice(placeOf(keys, key), 1)
      }
    },
  }
}

/** The index of the first key that is not below `key`. */
function placeOf(keys: readonly string[], key: string): number {
  const last = keys.at(-1)
  // Most keys arrive in order.
  if (last === undefined || last < key) return keys.length
  let low = 0
  for (let high = keys.length; low < high; ) {
    const middle = (low + high) >>> 1
    if ((keys[middle] ?? "") < key) low = middle + 1
    else high = middle
  }
  return low
}
