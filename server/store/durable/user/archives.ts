// The archives of one user, inside its object.
import { type Archive, archiveDueAtMs, chunkKeys, isArchiveGone } from "@signet/kernel/messaging/archive"
import type { BlobStore } from "@signet/kernel/messaging/ports"
import { fromText, toText } from "../plain.ts"
import type { Sql } from "../sql.ts"

export const archiveSteps = [
  "create table archive_list (id integer primary key check (id = 1), archives text not null, due_at integer)",
] as const

export function findArchives(sql: Sql): readonly Archive[] {
  const row = sql.row<{ archives: string }>("select archives from archive_list")
  return row === undefined ? [] : fromText<readonly Archive[]>(row.archives)
}

/** Requires a transaction. */
export const putArchives = (sql: Sql, archives: readonly Archive[]): void =>
  sql.run(
    "insert or replace into archive_list (id, archives, due_at) values (1, ?, ?)",
    toText(archives),
    archiveDueAtMs(archives),
  )

/** Requires a transaction. */
export function dropArchive(sql: Sql, id: string, nowMs: number): void {
  const before = findArchives(sql)
  const after = before.filter((one) => one.id !== id || !isArchiveGone(one, nowMs))
  if (after.length < before.length) putArchives(sql, after)
}

export const nextArchiveAt = (sql: Sql): number | null =>
  sql.row<{ due_at: number | null }>("select due_at from archive_list")?.due_at ?? null

/** Erases the chunks of these archives, before their records. */
export async function eraseChunks(blobs: Pick<BlobStore, "delete">, archives: readonly Archive[]): Promise<void> {
  for (const archive of archives) for (const key of chunkKeys(archive)) await blobs.delete(key)
}
