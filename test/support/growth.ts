// Rows for measurements of large tables.
import { sql } from "kysely"
import type { Database } from "../../server/store/postgres/sql.ts"

interface Column {
  name: string
  type: string
  isUnique: boolean
}

/** Rows that look like the table's only one, apart from their ids and keys. */
export interface Growth {
  readonly table: string
  /** SQL by column, for columns that take another value than the sample row's; `g` is the number of the row. */
  readonly set?: Readonly<Record<string, string>>
}

/** The numbers of the rows to add: above `from`, up to `to`. */
interface Size {
  readonly from: number
  readonly to: number
}

/**
 * Adds rows. A value that names a record differs from row to row, and is the same in all tables for the same number.
 * Foreign keys are not checked.
 *
 * @param way `indexed` adds to the indexes row by row, as calls do. `bulk` builds them afterwards, which takes a tenth
 *   of the time for millions of rows, and counts the table's pages for the planner.
 */
export async function grow(
  db: Database,
  size: Size,
  growths: readonly Growth[],
  way: "indexed" | "bulk" = "indexed",
): Promise<void> {
  for (const growth of growths) {
    const added = await db.transaction().execute(async (session) => {
      await sql`set local session_replication_role = replica`.execute(session)
      if (way === "indexed") return insert(session, size, growth)
      await sql`lock table ${sql.table(growth.table)} in access exclusive mode`.execute(session)
      await sql`set local maintenance_work_mem = '1GB'`.execute(session)
      await sql`update pg_index set indisready = false, indisvalid = false
        where indrelid = ${growth.table}::regclass`.execute(session)
      const count = await insert(session, size, growth)
      await sql`reindex table ${sql.table(growth.table)}`.execute(session)
      return count
    })
    if (added < (size.to - size.from) / 2) throw new Error(`${growth.table} grew by ${added} rows only`)
  }
}

async function insert(db: Database, { from, to }: Size, { table, set = {} }: Growth): Promise<number> {
  const columns = await columnsOf(db, table)
  const values = columns.map((column) => set[column.name] ?? varied(column))
  const text = `insert into ${table} (${columns.map(({ name }) => name).join(", ")})
    select ${values.join(", ")} from (select * from ${table} limit 1) as sample, generate_series(${from + 1}, ${to}) as g
    on conflict do nothing`
  const { numAffectedRows } = await sql
    .raw(text)
    .execute(db)
    .catch((error: unknown) => Promise.reject(new Error(`${table} cannot grow`, { cause: error })))
  return Number(numAffectedRows)
}

async function columnsOf(db: Database, table: string): Promise<readonly Column[]> {
  const { rows } = await sql<Column>`
    select attname as name, format_type(atttypid, atttypmod) as type, exists (
      select from pg_index where indrelid = attrelid and indisunique and attnum = any(indkey)) as "isUnique"
    from pg_attribute where attrelid = ${table}::regclass and attnum > 0 and not attisdropped order by attnum`.execute(
    db,
  )
  return rows
}

/** Ids of places stay, because all rows are of one app and tenant, and so do states. */
function varied({ name, type, isUnique }: Column): string {
  const value = `sample.${name}`
  const number = "lpad(g::text, 26, '0')"
  if (type === "text") {
    const other = isUnique ? `${value} || g` : value
    return `case when ${value} ~ '^((app|ten|ctx)_|[A-Z_]+$)' then ${value}
      when ${value} ~ '^[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}$' then left(${value}, 4) || ${number} else ${other} end`
  }
  if (type === "bytea" && isUnique) return "sha256(g::text::bytea)"
  if (type === "bigint" && isUnique) return `${value} + g`
  return value
}

/** Expired rows are swept while the others are measured. */
const unexpired = { expires_at: "now() + interval '1 day'" }

/** The tables of identities, sessions, tokens, clients, limits and audit. */
export const accountTables: readonly Growth[] = [
  { table: "identity" },
  { table: "principal" },
  { table: "provider_account" },
  { table: "membership" },
  { table: "session" },
  { table: "refresh_token", set: { previous_token_id: "null" } },
  { table: "id_token_use", set: unexpired },
  { table: "service_account" },
  { table: "service_secret" },
  { table: "client_assertion_use", set: unexpired },
  { table: "rate_limit", set: { full_at_us: "(extract(epoch from now() + interval '1 day') * 1000000)::bigint" } },
  {
    table: "revocation",
    set: {
      ...unexpired,
      ...{ kind: "'TOKEN'", key: "'key' || g", app_id: "''", min_version: "null", seq: "g + 100", is_pending: "false" },
    },
  },
  {
    table: "audit_event",
    set: {
      occurred_at: "sample.occurred_at - g * interval '1 second'",
      kind: "case g % 1900 when 0 then 'grant.created' when 1 then 'grant.revoked' else 'token.issued' end",
      actor_principal_id: "'prn_' || lpad(g::text, 26, '0')",
      subject_principal_id: "'prn_' || lpad((g + 1)::text, 26, '0')",
      target_type: "'grant'",
      target_id: "'target' || g",
    },
  },
  { table: "audit_link" },
  { table: "audit_data_key" },
]

export const messagingTables: readonly Growth[] = [
  { table: "messaging_device" },
  { table: "messaging_device_key" },
  { table: "device_list", set: { version: "sample.version" } },
  { table: "proof_nonce" },
  { table: "key_package" },
  { table: "key_package_init_key" },
  { table: "claim" },
  { table: "conversation", set: { direct_key: "null", kind: "'GROUP'" } },
  { table: "conversation_leaf", set: { leaf: "g" } },
  { table: "conversation_log", set: { conversation_id: "sample.conversation_id" } },
  { table: "device_cursor" },
]
