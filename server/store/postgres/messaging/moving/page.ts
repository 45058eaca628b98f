// Pages through one kind of record by its key, up to a size.
import { Refused } from "@signet/kernel/errors"
import type { StoredRecord } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import { type Access, placeOf } from "../access.ts"

/** A column of the key: its name in the page, and its source. */
export interface KeyColumn {
  readonly name: string
  readonly of: string
  readonly type: "text" | "bigint" | "bytea"
}

interface SectionOf<Row> {
  /** The from clause with a condition on the place `$1`, `$2`, without columns and order. */
  readonly from: string
  readonly columns: string
  /** The first column limits the scan to the page's start. */
  readonly key: readonly KeyColumn[]
  /** The approximate size of a row in bytes, in SQL. */
  readonly size: string
  readonly recordOf: (row: Row) => StoredRecord
}

interface FoundPage {
  readonly records: readonly StoredRecord[]
  readonly bytes: number
  /** The key of the last record; null on the last page. */
  readonly lastKey: readonly string[] | null
}

export interface Section {
  readonly keyLength: number
  /** @param room In bytes. A larger record is returned alone, if it is the page's first and `isFirst`. */
  page(
    ask: Access["ask"],
    place: Place,
    after: readonly string[] | null,
    room: { readonly bytes: number; readonly isFirst: boolean },
  ): Promise<FoundPage>
}

const rowsAtOnce = 2_000
/** The size of a record without its long fields. */
const overheadBytes = 128

const parameter = ({ type }: KeyColumn, i: number) =>
  type === "bytea" ? `decode($${i + 4}::text, 'hex')` : `$${i + 4}::${type}`

export function section<Row>(of: SectionOf<Row>): Section {
  const order = of.key.map((column) => column.of).join(", ")
  const outer = of.key.map(({ name }) => name).join(", ")
  const keyed = of.key.map((column) => `${column.of} as ${column.name}`).join(", ")
  const textOf = (condition: string) => `select * from (
  select source.*, sum(record_size) over (order by ${outer}) as total, count(*) over () as found
  from (
    select ${of.columns}, ${keyed}, ${overheadBytes} + ${of.size} as record_size
    ${of.from} ${condition} order by ${order} limit ${rowsAtOnce}
  ) source
) summed where total <= $3::bigint or total = record_size order by ${outer}`
  const [first] = of.key
  const firstText = textOf("")
  const nextText = textOf(
    `and ${first?.of} >= ${first === undefined ? "" : parameter(first, 0)} and (${order}) > (${of.key.map(parameter).join(", ")})`,
  )
  type Found = Row & Record<string, unknown> & { total: number; found: number }
  return {
    keyLength: of.key.length,
    async page(ask, place, after, { bytes, isFirst }) {
      const values = [...placeOf(place), bytes, ...(after ?? [])]
      const rows = await ask<Found>(after === null ? firstText : nextText, values)
      const [one] = rows
      if (one === undefined) return { records: [], bytes: 0, lastKey: null }
      if (Number(one.total) > bytes && !isFirst) return { records: [], bytes: 0, lastKey: after ?? [] }
      const last = rows.at(-1) ?? one
      const isLast = rows.length === Number(one.found) && rows.length < rowsAtOnce
      return {
        records: rows.map(of.recordOf),
        bytes: Number(last.total),
        lastKey: isLast ? null : of.key.map(({ name }) => textOfKey(last[name])),
      }
    },
  }
}

function textOfKey(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex")
  return String(value)
}

interface Reached {
  readonly section: number
  /** Null before the first record. */
  readonly key: readonly string[] | null
}

const format = 1

export const cursorOf = ({ section, key }: Reached): string =>
  Buffer.from(JSON.stringify([format, section, ...(key ?? [])])).toString("base64url")

/** @throws Refused INVALID_FIELD */
export function parseCursor(text: string, sections: readonly Section[]): Reached {
  if (text === "") return { section: 0, key: null }
  const parsed = parse(text)
  if (Array.isArray(parsed) && parsed[0] === format) {
    const [, index, ...key] = parsed
    const found = typeof index === "number" ? sections[index] : undefined
    const isKey = key.length === 0 || key.length === found?.keyLength
    if (found !== undefined && isKey && key.every((part) => typeof part === "string")) {
      return { section: index, key: key.length === 0 ? null : key }
    }
  }
  throw new Refused("INVALID_FIELD", { metadata: { field: "cursor" } })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString())
  } catch {
    return undefined
  }
}
