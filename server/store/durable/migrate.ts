// Every object brings its own tables up to date when it wakes: there is no moment at which all of them are migrated.
import type { Sql } from "./sql.ts"

/** Of each part of an object its steps, oldest first. A step that was ever deployed is never changed: more are added. */
export type Parts = Readonly<Record<string, readonly string[]>>

/**
 * Runs the steps that were not run here. Call it in a transaction.
 *
 * @throws When the object was written by newer code than this: better no answer than a wrong one.
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
