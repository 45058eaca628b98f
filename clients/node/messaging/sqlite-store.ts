import { closeSync, openSync } from "node:fs"
import type { DatabaseSync, SQLOutputValue } from "node:sqlite"
import { MessagingError, type MessagingStore, type Op, type Row, type Space } from "@signet/client/messaging"

const schemaVersion = 1n
/** Another process is done within this time, or hangs. Milliseconds. */
const busyTimeoutMs = 10_000

const noSqlite = `Node ${process.versions.node} has no node:sqlite: use Node 22.13 or later, or openFolderStore, which needs no library`

const schema = `
  CREATE TABLE space (
    name TEXT NOT NULL PRIMARY KEY,
    generation INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE sealed (
    space TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (space, kind, key)
  ) STRICT, WITHOUT ROWID;
  PRAGMA user_version = ${schemaVersion};
`

/**
 * A messaging store in one SQLite file, which any number of processes of its user may share.
 *
 * A transaction is on the disk when it resolves (`synchronous=FULL`). Only the owner can access the file.
 *
 * @throws MessagingError STORE_UNAVAILABLE if Node has no SQLite (before 22.13), STATE_NEWER_VERSION for a file of a
 *   later version, and STATE_TAMPERED for a damaged one. Neither is changed. A read or write that finds damage throws
 *   STATE_TAMPERED, too, and is rolled back.
 */
export function openSqliteStore(path: string): MessagingStore {
  // Not imported: Node 20 and early versions of 22 lack it, and the whole module would fail to load.
  const sqlite = process.getBuiltinModule("node:sqlite")
  if (sqlite === undefined) throw new MessagingError("STORE_UNAVAILABLE", noSqlite)
  // SQLite gives the files beside it the same mode.
  closeSync(openSync(path, "a", 0o600))
  const db = new sqlite.DatabaseSync(path)
  try {
    db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    prepareFile(db)
    // Reads the schema, which a damaged file lacks.
    db.prepare("SELECT generation FROM space LIMIT 0")
  } catch (error) {
    db.close()
    throw typedError(error)
  }
  const statements = {
    generation: db.prepare("SELECT generation FROM space WHERE name = ?"),
    get: db.prepare("SELECT value FROM sealed WHERE space = ? AND kind = ? AND key = ?"),
    list: db.prepare("SELECT key, value FROM sealed WHERE space = ? AND kind = ? AND key > ? ORDER BY key LIMIT ?"),
    spaces: db.prepare("SELECT name FROM space ORDER BY name"),
    begin: db.prepare("INSERT INTO space (name, generation) VALUES (?, 1) ON CONFLICT DO NOTHING"),
    advance: db.prepare("UPDATE space SET generation = generation + 1 WHERE name = ? AND generation = ?"),
    put: db.prepare(
      "INSERT INTO sealed (space, kind, key, value) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
    ),
    create: db.prepare("INSERT INTO sealed (space, kind, key, value) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"),
    remove: db.prepare("DELETE FROM sealed WHERE space = ? AND kind = ? AND key = ?"),
  }
  for (const statement of Object.values(statements)) statement.setReadBigInts(true)

  /** @returns False if a row to create exists. */
  const write = (space: Space, op: Op): boolean => {
    const place = [op.space ?? space, op.table, op.key] as const
    switch (op.op) {
      case "put":
        statements.put.run(...place, op.value)
        return true
      case "create":
        return statements.create.run(...place, op.value).changes === 1n
      case "remove":
        statements.remove.run(...place)
        return true
    }
  }
  const advance = (space: Space, expected: bigint): boolean => {
    const done = expected === 0n ? statements.begin.run(space) : statements.advance.run(space, expected)
    return done.changes === 1n
  }

  return {
    durability: "persistent",
    read: async (space, wanted) =>
      within(db, "BEGIN", () => {
        const generation = statements.generation.get(space)?.generation
        const values = wanted.map(({ table, key }) => {
          const row = statements.get.get(space, table, key)
          return row && bytesOf(row.value)
        })
        return { generation: typeof generation === "bigint" ? generation : 0n, values }
      }),
    async list(space, table, { after = "", limit = -1 } = {}) {
      const rows = typed(() => statements.list.all(space, table, after, limit))
      return rows.map(({ key, value }): Row => ({ key: String(key), value: bytesOf(value) }))
    },
    spaces: async () => typed(() => statements.spaces.all()).map(({ name }) => String(name)),
    transact: async (space, expectedGeneration, ops) =>
      within(db, "BEGIN IMMEDIATE", (undo) => {
        if (!advance(space, expectedGeneration)) return undo("GENERATION_MISMATCH")
        for (const op of ops) if (!write(space, op)) return undo("EXISTS")
        return "ok"
      }),
    async close() {
      if (db.isOpen) db.close()
    },
  }
}

/** SQLITE_ERROR for an unsupported format or another schema, SQLITE_CORRUPT and SQLITE_NOTADB. */
const damageCodes: readonly number[] = [1, 11, 26]
/** An extended code has the primary one in its lowest byte. */
const isDamage = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && damageCodes.includes(Number(error.errcode) & 0xff)
const typedError = (error: unknown): unknown =>
  isDamage(error)
    ? new MessagingError("STATE_TAMPERED", "the store's file is damaged: nothing was changed", { cause: error })
    : error

function typed<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw typedError(error)
  }
}

function prepareFile(db: DatabaseSync): void {
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;")
  within(db, "BEGIN IMMEDIATE", () => {
    const version = BigInt(Number(db.prepare("PRAGMA user_version").get()?.user_version ?? 0))
    if (version > schemaVersion) throw new MessagingError("STATE_NEWER_VERSION", "a later version wrote this store")
    if (version === 0n) db.exec(schema)
  })
}

/** Runs one transaction, which is committed or rolled back. */
function within<T>(db: DatabaseSync, begin: string, work: (undo: <R>(result: R) => R) => T): T {
  let isUndone = false
  try {
    db.exec(begin)
    const result = work((given) => {
      isUndone = true
      return given
    })
    db.exec(isUndone ? "ROLLBACK" : "COMMIT")
    return result
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK")
    throw typedError(error)
  }
}

function bytesOf(value: SQLOutputValue | undefined): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw new MessagingError("STATE_TAMPERED", "a stored row has no bytes")
}
