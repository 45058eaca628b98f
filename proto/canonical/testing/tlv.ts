import { concat } from "../bytes.ts"
import { type Cursor, readVarint, take, varint } from "../varint.ts"

/** One encoded field: its tag, and a number or the length with content. */
export interface Tlv {
  readonly number: bigint
  readonly wire: bigint
  readonly value: bigint
  /** Only for wire type 2. */
  readonly content: Uint8Array
}

/** Splits valid bytes into fields without a schema. */
export function split(bytes: Uint8Array): Tlv[] {
  const cursor: Cursor = { bytes, at: 0, end: bytes.length }
  const fields: Tlv[] = []
  while (cursor.at < cursor.end) {
    const tag = readVarint(cursor)
    const value = readVarint(cursor)
    const wire = tag & 7n
    fields.push({ number: tag >> 3n, wire, value, content: wire === 2n ? take(cursor, value) : new Uint8Array(0) })
  }
  return fields
}

export function tagBytes({ number, wire }: Pick<Tlv, "number" | "wire">): Uint8Array {
  return varint((number << 3n) | wire)
}

/** Encodes one field. */
export function joinOne(field: Tlv): Uint8Array {
  return concat(tagBytes(field), varint(field.value), field.content)
}

/** Encodes the fields; the inverse of `split`. */
export function join(fields: readonly Tlv[]): Uint8Array {
  return concat(...fields.map(joinOne))
}

/** Replaces a field's content and adjusts its length. */
export function withContent(field: Tlv, content: Uint8Array): Tlv {
  return { ...field, value: BigInt(content.length), content }
}

/** A varint's bytes, one byte longer than necessary. */
export function padded(minimal: Uint8Array): Uint8Array {
  return concat(
    minimal.map((byte, at) => (at === minimal.length - 1 ? byte | 0x80 : byte)),
    Uint8Array.of(0),
  )
}
