// A store in IndexedDB. One transaction reads, compares and writes, so tabs cannot interleave.
import type { ByteStorage, StoredBytes } from "@signet/client"
import { changeIn, openDatabase, readIn } from "./idb.ts"

/** @param database The database's name; only this store may use it. */
export function createIdbStorage(database = "signet"): ByteStorage {
  const open = openDatabase(database)
  return {
    read: async (name) => parseKept(await readIn(open, name)),
    async write(name, bytes, expected) {
      const revision = crypto.randomUUID()
      const kept: StoredBytes = { revision, bytes: bytes.slice() }
      return changeIn(open, name, (before, at) => {
        if (expected !== "any" && parseKept(before)?.revision !== expected) return undefined
        at.put(kept, name)
        return revision
      })
    },
    remove: (name, expected) =>
      changeIn(open, name, (before, at) => {
        if (before !== undefined && expected !== "any" && parseKept(before)?.revision !== expected) return false
        at.delete(name)
        return true
      }),
  }
}

function parseKept(value: unknown): StoredBytes | undefined {
  if (value === undefined) return undefined
  const { revision, bytes }: Record<string, unknown> = Object(value)
  if (typeof revision !== "string" || !(bytes instanceof Uint8Array))
    throw new Error("the stored value is not in this store's format")
  return { revision, bytes }
}
