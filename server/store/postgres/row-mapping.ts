// Maps the fields of a record to the columns of its table. Each mapping is listed once, for reading and for writing.
import type { Insertable, Selectable } from "kysely"

/** A column that stores a field in another form. `null` is `null` in every form. */
interface Stored<Form extends "instant" | "bytes" | "json", Column extends string> {
  readonly form: Form
  readonly column: Column
}

const stored =
  <Form extends "instant" | "bytes" | "json">(form: Form) =>
  <Column extends string>(column: Column): Stored<Form, Column> => ({ form, column })

/** Milliseconds since the Unix epoch, stored as timestamptz. */
export const instant = stored("instant")
/** Bytes, stored as bytea. What is read is a copy: the driver's bytes are slices of a shared pool. */
export const bytea = stored("bytes")
/** A JSON value, stored as jsonb. */
export const json = stored("json")

/** The columns whose values are of that type when they are read. */
type ColumnsOf<Table, Value> = {
  [Column in keyof Table & string]: Column extends keyof Selectable<Table>
    ? Selectable<Table>[Column] extends Value
      ? Column
      : never
    : never
}[keyof Table & string]

type Place<Value, Table> =
  | ColumnsOf<Table, Value>
  | (number extends Value ? Stored<"instant", ColumnsOf<Table, Date | null>> : never)
  | (Uint8Array extends Value ? Stored<"bytes", ColumnsOf<Table, Uint8Array | null>> : never)
  | (Value extends object ? Stored<"json", keyof Table & string> : never)
  | (Value extends object ? Fields<Value, Table> : never)

/** The column of each field; of a field that is an object, the columns of its fields. */
export type Fields<Value, Table> = { readonly [Field in keyof Value]-?: Place<Value[Field], Table> }

/** Of all columns of `Table`: what a mapping leaves out is omitted from the type that it is given. */
interface RowMapping<Value, Table> {
  readonly columns: readonly (keyof Table & string)[]
  fromRow(row: Selectable<Table>): Value
  toRow(value: Value): Insertable<Table>
  /** The values of `columns`, in their order: for a statement by insertInto (sql.ts). */
  values(value: Value): unknown[]
}

interface Entry {
  readonly column: string
  /** The field, and the field of the object in it. */
  readonly path: readonly [string] | readonly [string, string]
  readonly form: Stored<"instant" | "bytes" | "json", string>["form"] | "plain"
}

export function rowMapping<Value extends object, Table>(fields: Fields<Value, Table>): RowMapping<Value, Table> {
  const entries = Object.entries(fields).flatMap(([field, place]) => entriesOf([field], place))
  const values = (value: object) => entries.map((entry) => write(entry, fieldOf(value, entry)))
  return {
    columns: entries.map(({ column }) => column as keyof Table & string),
    fromRow: (row) => {
      const value: Record<string, unknown> = {}
      for (const entry of entries) {
        const [field, inner] = entry.path
        const read = readColumn(entry, (row as Record<string, unknown>)[entry.column])
        if (inner === undefined) value[field] = read
        else value[field] = Object.assign(value[field] ?? {}, { [inner]: read })
      }
      return value as Value
    },
    toRow: (value) => {
      const written = values(value)
      return Object.fromEntries(entries.map(({ column }, i) => [column, written[i]])) as Insertable<Table>
    },
    values,
  }
}

function entriesOf(path: readonly [string], place: unknown): readonly Entry[] {
  if (typeof place === "string") return [{ column: place, path, form: "plain" }]
  if (isStored(place)) return [{ column: place.column, path, form: place.form }]
  return Object.entries(place as object).flatMap(([inner, innermost]) =>
    entriesOf(path, innermost).map((entry) => ({ ...entry, path: [path[0], inner] as const })),
  )
}

const isStored = (place: unknown): place is Stored<"instant" | "bytes" | "json", string> =>
  typeof place === "object" && place !== null && "form" in place && typeof place.form === "string"

function fieldOf(value: object, { path: [field, inner] }: Entry): unknown {
  const outer = (value as Record<string, unknown>)[field]
  return inner === undefined ? outer : (outer as Record<string, unknown>)[inner]
}

function write({ form }: Entry, value: unknown): unknown {
  if (value === null) return null
  if (form === "instant") return new Date(value as number)
  return form === "json" ? JSON.stringify(value) : value
}

function readColumn({ form }: Entry, value: unknown): unknown {
  if (value === null) return null
  if (form === "instant") return (value as Date).getTime()
  return form === "bytes" ? new Uint8Array(value as Uint8Array) : value
}

/** The columns of a table in a statement that joins several: `table.column as table_column`. */
export const prefixed = (table: string, columns: readonly string[]): string =>
  columns.map((column) => `${table}.${column} as ${table}_${column}`).join(", ")

/** The row of one of the tables in a row with prefixed columns; undefined if the join found none. */
export function rowOf<Table>(
  row: Readonly<Record<string, unknown>>,
  table: string,
  columns: readonly string[],
): Selectable<Table> | undefined {
  if (row[`${table}_id`] === null) return undefined
  const own: Record<string, unknown> = {}
  for (const column of columns) own[column] = row[`${table}_${column}`]
  return own as Selectable<Table>
}
