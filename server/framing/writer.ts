import { concat } from "@signet/canonical/bytes"

/** Bytes as a key of a Map or Set, one character per byte. For short values such as keys and hashes only. */
export function keyOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes)
}

/** @param value Below 2^32. */
export function uint32Bytes(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value)
}

/** @param value Below 2^64. */
export function uint64Bytes(value: bigint): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, value)
  return bytes
}

/** Encodes the length of a vector, below 2^30, in its shortest form (RFC 9420 section 2.1.2). */
export function lengthBytes(length: number): Uint8Array {
  if (length < 64) return Uint8Array.of(length)
  if (length < 16_384) return Uint8Array.of((length >> 8) | 0x40, length)
  return Uint8Array.of((length >>> 24) | 0x80, length >>> 16, length >>> 8, length)
}

/** Encodes a variable-size vector of the concatenated parts. */
export function vectorBytes(...parts: readonly Uint8Array[]): Uint8Array {
  return concat(lengthBytes(parts.reduce((sum, part) => sum + part.length, 0)), ...parts)
}
