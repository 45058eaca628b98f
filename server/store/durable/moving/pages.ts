// Pages an object's records, up to a size. The records do not change meanwhile, because writes are refused.
import type { StoredRecord } from "@signet/kernel/messaging/moving"
import type { Value } from "../sql.ts"

/** One kind of an object's records, in the order of its keys. */
export interface Part {
  /** At most `limit` rows after the key; none at the end. */
  rows(after: readonly Value[] | null, limit: number): readonly PartRow[]
}

interface PartRow {
  readonly key: readonly Value[]
  readonly record: StoredRecord
}

export interface Page {
  readonly records: readonly StoredRecord[]
  readonly bytes: number
  /** The start of the next page; null on the last one. */
  readonly next: Reached | null
}

/** A part, and the last key read from it. */
export interface Reached {
  readonly part: number
  readonly key: readonly Value[] | null
}

const rowsAtOnce = 200
const overheadBytes = 256

/** Returns at least one record, if there is one and `isFirst`. */
export function pageOf(
  parts: readonly Part[],
  from: Reached | null,
  room: { readonly bytes: number; readonly isFirst: boolean },
): Page {
  const records: StoredRecord[] = []
  let bytes = 0
  let { part, key } = from ?? { part: 0, key: null }
  for (;;) {
    const rows = parts[part]?.rows(key, rowsAtOnce)
    if (rows === undefined) return { records, bytes, next: null }
    for (const row of rows) {
      const size = sizeOf(row.record) + overheadBytes
      if (bytes + size > room.bytes && !(room.isFirst && records.length === 0)) {
        return { records, bytes, next: { part, key } }
      }
      records.push(row.record)
      bytes += size
      key = row.key
    }
    if (rows.length > 0) continue
    part++
    key = null
  }
}

/** The approximate size of a value in bytes, recursively. */
function sizeOf(value: unknown): number {
  if (value instanceof Uint8Array || typeof value === "string") return value.length
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + sizeOf(one), 0)
  if (typeof value !== "object" || value === null) return 8
  return Object.values(value).reduce<number>((sum, one) => sum + sizeOf(one), 0)
}
