// Applies the migrations: plain SQL files, forward only. A release first expands the schema, and a later one contracts
// it. The database stores a checksum of each file, so a shipped file cannot be edited.
import { createHash } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { CompiledQuery, type Kysely } from "kysely"
import { type MigrationProvider, Migrator } from "kysely/migration"
import type { Tables } from "./schema.ts"
import type { Database } from "./sql.ts"

interface SqlFile {
  name: string
  text: string
  /** SHA-256 of the text in hexadecimal. */
  sha256: string
}

const folder = join(import.meta.dirname, "migrations")

/** This program's migrations, in order. */
export async function readMigrations(): Promise<readonly SqlFile[]> {
  const files = (await readdir(folder)).filter((file) => /^\d{4}_[a-z_]+\.sql$/.test(file)).toSorted()
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(folder, file), "utf8")
      return { name: file.replace(/\.sql$/, ""), text, sha256: createHash("sha256").update(text, "utf8").digest("hex") }
    }),
  )
}

/**
 * Applies the missing migrations. Concurrent and repeated calls are safe.
 *
 * @returns The names of the migrations that this call applied.
 * @throws Error when the database has another version of a migration.
 */
export async function migrate(db: Database, files?: readonly SqlFile[]): Promise<readonly string[]> {
  const migrations = files ?? (await readMigrations())
  return db.connection().execute((session) => unhurried(session, () => migrateWith(session, migrations)))
}

/** Runs without timeouts: a migration, and the wait for another process's, takes as long as it needs. */
async function unhurried<T>(session: Database, work: () => Promise<T>): Promise<T> {
  const bounds = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
  for (const bound of bounds) await session.executeQuery(CompiledQuery.raw(`set ${bound} = 0`))
  try {
    return await work()
  } finally {
    // A session whose timeouts cannot be reset is lost anyway.
    for (const bound of bounds) await session.executeQuery(CompiledQuery.raw(`reset ${bound}`)).catch(() => undefined)
  }
}

async function migrateWith(db: Database, migrations: readonly SqlFile[]): Promise<readonly string[]> {
  const { error, results } = await new Migrator({ db, provider: sqlFileProvider(migrations) }).migrateToLatest()
  if (error !== undefined) throw error
  const kept = await readChecksums(db)
  for (const { name, sha256 } of migrations) {
    if (kept.get(name) !== sha256) throw new Error(`migration ${name} was changed after this database applied it`)
  }
  return (results ?? []).filter((result) => result.status === "Success").map((result) => result.migrationName)
}

/** True when the database has every migration of this program, unchanged. Newer ones may follow: they only add. */
export async function isMigrated(db: Database, files?: readonly SqlFile[]): Promise<boolean> {
  try {
    const [migrations, kept] = await Promise.all([files ?? readMigrations(), readChecksums(db)])
    return migrations.every(({ name, sha256 }) => kept.get(name) === sha256)
  } catch {
    return false
  }
}

async function readChecksums(db: Database): Promise<ReadonlyMap<string, string>> {
  const rows = await db.selectFrom("migration_checksum").select(["name", "sha256"]).execute()
  return new Map(rows.map(({ name, sha256 }) => [name, sha256]))
}

function sqlFileProvider(files: readonly SqlFile[]): MigrationProvider {
  const migrationOf = ({ name, text, sha256 }: SqlFile) => ({
    async up(db: Kysely<Tables>) {
      await db.executeQuery(CompiledQuery.raw(text))
      await db.insertInto("migration_checksum").values({ name, sha256 }).execute()
    },
  })
  return {
    getMigrations: async () => Object.fromEntries(files.map((file) => [file.name, migrationOf(file)])),
  }
}
