// Synchronous SQL inside one object, with the types of the rest of the code.

/** Booleans are stored as 0 and 1, bigints as integers below 2^53. */
export type Value = string | number | bigint | boolean | Uint8Array | null

/** Columns are text, numbers, null, and Uint8Array for blobs, as `Row` states. At most 100 values per statement. */
export interface Sql {
  rows<Row extends object>(text: string, ...values: readonly Value[]): Row[]
  /** The first row, if there is one. */
  row<Row extends object>(text: string, ...values: readonly Value[]): Row | undefined
  run(text: string, ...values: readonly Value[]): void
}

/** @param before Called before each statement. */
export function createSql(storage: SqlStorage, before: () => void = () => undefined): Sql {
  const ask = (text: string, values: readonly Value[]) => {
    before()
    return storage
      .exec(text, ...values.map(kept))
      .toArray()
      .map(given)
  }
  return {
    // The caller knows the columns of its statement.
    rows: <Row extends object>(text: string, ...values: readonly Value[]) => ask(text, values) as Row[],
    row: <Row extends object>(text: string, ...values: readonly Value[]) => ask(text, values)[0] as Row | undefined,
    run: (text, ...values) => {
      ask(text, values)
    },
  }
}

function kept(value: Value): SqlStorageValue | Uint8Array {
  if (typeof value === "boolean") return value ? 1 : 0
  if (typeof value !== "bigint") return value
  const number = Number(value)
  if (!Number.isSafeInteger(number)) throw new Error("an integer that an object cannot keep")
  return number
}

const given = (row: Record<string, SqlStorageValue>): object =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value instanceof ArrayBuffer ? new Uint8Array(value) : value]),
  )

/** For `in (select value from json_each(?))`: any number of texts in one parameter. */
export const listed = (texts: readonly string[]): string => JSON.stringify(texts)

/** One question mark per column. */
export const marks = (columns: readonly string[]): string => columns.map(() => "?").join(", ")
