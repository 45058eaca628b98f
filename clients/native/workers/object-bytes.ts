// Named bytes in a Durable Object: the sealed sign-in, the signing roots, and the keys of the secret box.
import type { ByteStorage } from "@signet/client"
import { bytesOf, type ObjectStorage } from "./object-storage.ts"

const schema = `
  CREATE TABLE IF NOT EXISTS signet_bytes (
    name TEXT NOT NULL PRIMARY KEY,
    revision TEXT NOT NULL,
    bytes BLOB NOT NULL
  ) STRICT, WITHOUT ROWID;
`

export function createObjectBytes(storage: ObjectStorage): ByteStorage {
  const { sql } = storage
  sql.exec(schema)

  function find(name: string) {
    const row = sql.exec("SELECT revision, bytes FROM signet_bytes WHERE name = ?", name).toArray()[0]
    const bytes = bytesOf(row?.bytes)
    return bytes && { revision: String(row?.revision), bytes }
  }

  return {
    read: async (name) => find(name),
    async write(name, bytes, expected) {
      const revision = crypto.randomUUID()
      if (expected !== "any" && find(name)?.revision !== expected) return undefined
      sql.exec("INSERT OR REPLACE INTO signet_bytes VALUES (?, ?, ?)", name, revision, bytes)
      await storage.sync()
      return revision
    },
    async remove(name, expected) {
      const found = find(name)
      if (found === undefined) return true
      if (expected !== "any" && found.revision !== expected) return false
      sql.exec("DELETE FROM signet_bytes WHERE name = ?", name)
      await storage.sync()
      return true
    },
  }
}
