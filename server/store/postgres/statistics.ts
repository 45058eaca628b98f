// New statistics for tables that have grown since PostgreSQL last counted their pages.
import { CompiledQuery } from "kysely"
import type { Database } from "./sql.ts"

/** Smaller tables are read as quickly as an index. */
const fewPages = 8

/** An analysis of a larger table takes seconds; autovacuum does it. */
const mostPages = 131_072

const grown = `select oid::regclass::text as name from pg_class
where relkind = 'r' and relnamespace = current_schema()::regnamespace and pg_has_role(relowner, 'usage')
  and pg_relation_size(oid) / current_setting('block_size')::integer
    between 2 * greatest(relpages, ${fewPages}) and ${mostPages}`

/**
 * Analyses each table that has doubled. PostgreSQL keeps the plan of a prepared statement until it analyses one of the
 * statement's tables, which autovacuum does once a minute at most, and PGlite once a day. Until then a statement that was
 * planned for an empty table reads the whole table at each call. Skips tables of another owner, and tables that are
 * being analysed.
 *
 * @returns The names of the tables.
 */
export async function analyzeGrown(db: Database): Promise<readonly string[]> {
  const { rows } = await db.executeQuery<{ name: string }>(CompiledQuery.raw(grown))
  for (const { name } of rows) await db.executeQuery(CompiledQuery.raw(`analyze (skip_locked) ${name}`))
  return rows.map(({ name }) => name)
}
