import type { Page } from "@signet/kernel/machine-ports"
import { type RawBuilder, sql } from "kysely"
import { at } from "./sql.ts"

/** Of a list that is newest first and by id: what comes after the cursor. */
export function after(before: Page["before"]): RawBuilder<boolean> {
  return before === null ? sql`true` : sql`(created_at, id) < (${at(before.createdAtMs)}, ${before.id})`
}
