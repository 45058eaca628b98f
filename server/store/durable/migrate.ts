// Migrates each object's tables when the object wakes: there is no time at which all objects are migrated.
import type { Sql } from "./sql.ts"

/**
 * The migration steps of each part of an object, oldest first. A deployed step is never changed; new steps are
 * appended.
 */
export type Parts = Readonly<Record<string, readonly string[]>>

/**
 * Runs the missing steps. Requires a transaction.
 *
 * @throws Error when newer code has written the object.
 */
export function migrate(sql: Sql, parts: Parts): void {
  sql.run("create table if not exists part_version (part text primary key, version integer not null)")
  const rows = sql.rows<{ part: string; version: number }>("select part, version from part_version")
  const versions = new Map(rows.map(({ part, version }) => [part, version]))
  for (const [part, steps] of Object.entries(parts)) {
    const version = versions.get(part) ?? 0
    if (version > steps.length) throw new Error(`the object is newer than this code: ${part} ${version}`)
    if (version === steps.length) continue
    for (const step of steps.slice(version)) sql.run(step)
    sql.run("insert or replace into part_version (part, version) values (?, ?)", part, steps.length)
  }
}
