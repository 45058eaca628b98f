import type { Page } from "@signet/kernel/page"
import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely"
import { at } from "./sql.ts"

/** The condition for rows after the cursor, in a list that is newest first, then by id. */
export function isAfterCursor(before: Page["before"]): RawBuilder<boolean> {
  return before === null ? sql`true` : sql`(created_at, id) < (${at(before.createdAtMs)}, ${before.id})`
}

/** A page of one table's rows, newest first. */
export function newestFirst<DB, T extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, T, Row>,
  { size, before }: Page,
): SelectQueryBuilder<DB, T, Row> {
  return query.where(isAfterCursor(before)).orderBy(sql`created_at`, "desc").orderBy(sql`id`, "desc").limit(size)
}

/** The condition for rows with one of these values. No value selects all rows. */
export function among(column: string, values: readonly string[]): RawBuilder<boolean> {
  return values.length === 0 ? sql`true` : sql`${sql.ref(column)} = any(${values})`
}

/** The condition for rows with this value. Null selects all rows. */
export function only(column: string, value: string | null): RawBuilder<boolean> {
  return value === null ? sql`true` : sql`${sql.ref(column)} = ${value}`
}
