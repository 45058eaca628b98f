// The messenger's rows in a Durable Object. An object is one thread, and its SQL is synchronous: no statement of another
// caller comes between.
import { MessagingError, type MessagingStore, type Op, type Row, type Space } from "@signet/client/messaging"
import { bytesOf, type ObjectStorage } from "./object-storage.ts"

const schemaVersion = 1
const schema = `
  CREATE TABLE IF NOT EXISTS signet_version (version INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS signet_space (
    name TEXT NOT NULL PRIMARY KEY,
    generation INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS signet_sealed (
    space TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (space, kind, key)
  ) STRICT, WITHOUT ROWID;
`

/** Rolls a transaction back. */
class Refusal extends Error {
  readonly outcome: "GENERATION_MISMATCH" | "EXISTS"

  constructor(outcome: Refusal["outcome"]) {
    super(outcome)
    this.outcome = outcome
  }
}

/**
 * A messaging store in a Durable Object.
 *
 * @throws MessagingError STATE_NEWER_VERSION for tables of a later version, which are not changed.
 */
export function openObjectStore(storage: ObjectStorage): MessagingStore {
  const { sql } = storage
  const rows = (query: string, ...bindings: Parameters<typeof sql.exec>[1][]) => sql.exec(query, ...bindings).toArray()
  storage.transactionSync(() => {
    sql.exec(schema)
    const version = rows("SELECT version FROM signet_version")[0]?.version
    if (version === undefined) sql.exec("INSERT INTO signet_version VALUES (?)", schemaVersion)
    else if (Number(version) > schemaVersion) {
      throw new MessagingError("STATE_NEWER_VERSION", "a later version wrote this store")
    }
  })

  const generationOf = (space: Space): number =>
    Number(rows("SELECT generation FROM signet_space WHERE name = ?", space)[0]?.generation ?? 0)
  const found = (space: Space, kind: string, key: string) =>
    bytesOf(
      rows("SELECT value FROM signet_sealed WHERE space = ? AND kind = ? AND key = ?", space, kind, key)[0]?.value,
    )

  function write(own: Space, op: Op): void {
    const { space = own, table, key } = op
    if (op.op === "remove") {
      sql.exec("DELETE FROM signet_sealed WHERE space = ? AND kind = ? AND key = ?", space, table, key)
      return
    }
    if (op.op === "create" && found(space, table, key) !== undefined) throw new Refusal("EXISTS")
    const put = "INSERT INTO signet_sealed VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
    sql.exec(put, space, table, key, op.value)
  }

  return {
    durability: "persistent",
    read: async (space, wanted) => ({
      generation: BigInt(generationOf(space)),
      values: wanted.map(({ table, key }) => found(space, table, key)),
    }),
    async list(space, table, { after = "", limit = -1 } = {}) {
      const query = "SELECT key, value FROM signet_sealed WHERE space = ? AND kind = ? AND key > ? ORDER BY key LIMIT ?"
      return rows(query, space, table, after, limit).map(
        ({ key, value }): Row => ({ key: String(key), value: bytesOf(value) ?? new Uint8Array() }),
      )
    },
    spaces: async () => rows("SELECT name FROM signet_space ORDER BY name").map(({ name }) => String(name)),
    async transact(space, expectedGeneration, ops) {
      try {
        storage.transactionSync(() => {
          const generation = generationOf(space)
          if (BigInt(generation) !== expectedGeneration) throw new Refusal("GENERATION_MISMATCH")
          const advance =
            "INSERT INTO signet_space VALUES (?, 1) ON CONFLICT DO UPDATE SET generation = signet_space.generation + 1"
          sql.exec(advance, space)
          for (const op of ops) write(space, op)
        })
      } catch (error) {
        if (error instanceof Refusal) return error.outcome
        throw error
      }
      await storage.sync()
      return "ok"
    },
    close: async () => undefined,
  }
}
