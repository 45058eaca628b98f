// Applies the migrations: plain SQL files, forward only. A release first expands the schema, and drops what is no longer
// used when the operator finishes the upgrade. The database stores a checksum of each file, so a shipped file cannot be
// edited.
import { type ApplyOptions, apply } from "./migrating/apply.ts"
import { kindOf, type MigrationKind, readMigrations, type SqlFile } from "./migrating/files.ts"
import { withLease } from "./migrating/lease.ts"
import type { Database } from "./sql.ts"

export { readMigrations } from "./migrating/files.ts"

/** How far to migrate: what each start needs, also old rows, or all. */
type MigrationScope = "start" | "backfill" | "finish"

const kindsOf: Readonly<Record<MigrationScope, ReadonlySet<MigrationKind>>> = {
  start: new Set(["expand"]),
  backfill: new Set(["expand", "backfill"]),
  finish: new Set(["expand", "backfill", "finish"]),
}

interface MigrateOptions extends Pick<ApplyOptions, "onRetry" | "onBatch"> {
  readonly files?: readonly SqlFile[]
  /** Default: `start`. An empty database gets all files. */
  readonly scope?: MigrationScope
  /** Runs the work on a database that lacks migrations: it waits for other processes, and may take hours. */
  readonly during?: (<T>(work: () => Promise<T>) => Promise<T>) | undefined
}

/**
 * Applies the missing migrations of a scope. Concurrent and repeated calls are safe. An interrupted call is resumed by
 * the next one: each file is a transaction, and each batch of a backfill.
 *
 * @returns The names of the migrations that this call applied.
 * @throws Error when the database has another version of a migration.
 */
export async function migrate(db: Database, options: MigrateOptions = {}): Promise<readonly string[]> {
  const { scope = "start", files = await readMigrations(), during = (work) => work(), onRetry, onBatch } = options
  // Without a lease, because a database role without rights to change the schema starts on a migrated database.
  if ((await pendingOf(db, files, scope)).due.length === 0) return []
  const applyDue = async () => {
    const { due, isEmpty } = await pendingOf(db, files, scope)
    const isFinal = isEmpty || scope === "finish"
    for (const file of due) await apply(db, file, { isInUse: !isEmpty, isFinal, onRetry, onBatch })
    return due.map(({ name }) => name)
  }
  return during(() => withLease(db, applyDue))
}

interface Pending {
  readonly due: readonly SqlFile[]
  /** True for a database without any migration. */
  readonly isEmpty: boolean
}

/** The files of a scope that the database does not have. @throws Error when it has another version of a file. */
export async function pendingOf(db: Database, files: readonly SqlFile[], scope: MigrationScope): Promise<Pending> {
  const kept = await readChecksums(db)
  for (const { name, sha256, formerSha256 } of files) {
    const applied = kept.get(name)
    if (applied !== undefined && applied !== sha256 && applied !== formerSha256) {
      throw new Error(`migration ${name} was changed after this database applied it`)
    }
  }
  const isEmpty = kept.size === 0
  const kinds = kindsOf[isEmpty ? "finish" : scope]
  return { due: files.filter(({ name }) => !kept.has(name) && kinds.has(kindOf(name))), isEmpty }
}

/** True when the database has every migration that a start applies, unchanged. Newer ones may follow. */
export async function isMigrated(db: Database, files?: readonly SqlFile[]): Promise<boolean> {
  try {
    return (await pendingOf(db, files ?? (await readMigrations()), "start")).due.length === 0
  } catch {
    return false
  }
}

const noTable = "42P01"

async function readChecksums(db: Database): Promise<ReadonlyMap<string, string>> {
  try {
    const rows = await db.selectFrom("migration_checksum").select(["name", "sha256"]).execute()
    return new Map(rows.map(({ name, sha256 }) => [name, sha256]))
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === noTable) return new Map()
    throw error
  }
}
