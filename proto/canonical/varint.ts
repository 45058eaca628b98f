import { CanonicalError, ensure } from "./errors.ts"

/** A read position in canonical bytes. Reading advances `at`; `end` is fixed. */
export interface Cursor {
  readonly bytes: Uint8Array
  at: number
  readonly end: number
}

const uint64Max = 0xffff_ffff_ffff_ffffn

/**
 * Reads a minimal base-128 varint, 0 to 2^64-1, of at most 10 bytes.
 *
 * @throws CanonicalError CPB_TRUNCATED, CPB_RANGE, CPB_NON_MINIMAL_VARINT
 */
export function readVarint(cursor: Cursor): bigint {
  let value = 0n
  for (let count = 0; count < 10; count++) {
    const byte = cursor.at < cursor.end ? cursor.bytes[cursor.at] : undefined
    if (byte === undefined) throw new CanonicalError("CPB_TRUNCATED", "varint")
    cursor.at++
    if (count === 0 && byte < 0x80) return BigInt(byte)
    value |= BigInt(byte & 0x7f) << BigInt(7 * count)
    if (byte >= 0x80) continue
    ensure(byte !== 0, "CPB_NON_MINIMAL_VARINT")
    ensure(value <= uint64Max, "CPB_RANGE", "varint")
    return value
  }
  throw new CanonicalError("CPB_RANGE", "varint")
}

/** Encodes a minimal varint. */
export function varint(value: bigint): Uint8Array {
  ensure(value >= 0n && value <= uint64Max, "CPB_RANGE", "varint")
  const bytes: number[] = []
  let rest = value
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  bytes.push(Number(rest))
  return Uint8Array.from(bytes)
}

/** Reads the next `length` bytes. @throws CanonicalError CPB_TRUNCATED */
export function take(cursor: Cursor, length: bigint): Uint8Array {
  ensure(length <= BigInt(cursor.end - cursor.at), "CPB_TRUNCATED", "length")
  const from = cursor.at
  cursor.at += Number(length)
  return cursor.bytes.subarray(from, cursor.at)
}
