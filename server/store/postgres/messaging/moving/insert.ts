// Inserts many rows of one kind with a constant statement. Existing rows stay unchanged.
import type { StoredRecord } from "@signet/kernel/messaging/moving"
import { type Database, run } from "../../sql.ts"

export interface Column<Row> {
  readonly name: string
  readonly type: "text" | "bytea" | "bigint" | "integer" | "boolean" | "timestamptz" | "jsonb" | "texts" | "integers"
  readonly of: (row: Row) => unknown
}

/** Inserts the rows of records. */
type Insert<Row> = (trx: Database, rows: readonly Row[]) => Promise<void>

// The database flattens arrays of arrays, so they are sent as JSON.
const arrays = {
  texts: (name: string) => `array(select jsonb_array_elements_text(new.${name}))`,
  integers: (name: string) => `array(select jsonb_array_elements_text(new.${name})::integer)`,
} as const

export function inserting<Row>(table: string, columns: readonly Column<Row>[]): Insert<Row> {
  const sent = columns.map(({ type }, i) => `$${i + 1}::${type in arrays ? "jsonb" : type}[]`)
  const kept = columns.map(({ name, type }) =>
    type === "texts" || type === "integers" ? arrays[type](name) : `new.${name}`,
  )
  const names = columns.map(({ name }) => name).join(", ")
  const text = `insert into ${table} (${names}) select ${kept.join(", ")}
    from unnest(${sent.join(", ")}) as new (${names}) on conflict do nothing`
  return async (trx, rows) => {
    if (rows.length > 0)
      await run(
        trx,
        text,
        columns.map(({ type, of }) => rows.map((row) => sendable(type, of(row)))),
      )
  }
}

function sendable(type: Column<unknown>["type"], value: unknown): unknown {
  if (value === null) return null
  if (value instanceof Uint8Array) return Buffer.from(value)
  return type === "jsonb" || type === "texts" || type === "integers" ? JSON.stringify(value) : value
}

export type RecordOf<Is extends StoredRecord["is"]> = Extract<StoredRecord, { readonly is: Is }>
