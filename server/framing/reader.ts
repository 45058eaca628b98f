import { type FramingCode, FramingOversized, FramingRefused } from "./refusal.ts"

/**
 * A read position in received bytes (RFC 9420 section 2.1).
 *
 * Nothing is copied: results are views of the input, which must not change afterwards. Every length is checked against
 * the remaining bytes, and nothing is allocated for a claimed length.
 */
export interface Reader {
  readonly bytes: Uint8Array
  at: number
  readonly end: number
}

/** @throws FramingRefused MLS_TOO_LARGE before any byte is read. */
export function openReader(bytes: Uint8Array, maxBytes: number, what: string): Reader {
  if (bytes.length > maxBytes) throw new FramingOversized(what, maxBytes)
  return { bytes, at: 0, end: bytes.length }
}

/** Throws a refusal at the reader's position, or at `offset`. */
export function refuse(reader: Reader, code: FramingCode, what: string, offset: number = reader.at): never {
  throw new FramingRefused(code, what, offset)
}

function atEnd(reader: Reader): boolean {
  return reader.at === reader.end
}

/** @throws FramingRefused MLS_NON_CANONICAL if bytes follow. */
export function finish(reader: Reader, what: string): void {
  if (!atEnd(reader)) refuse(reader, "MLS_NON_CANONICAL", `bytes after ${what}`)
}

/** The bytes read since `start`. */
export function since(reader: Reader, start: number): Uint8Array {
  return reader.bytes.subarray(start, reader.at)
}

function take(reader: Reader, count: number, what: string): number {
  const { at } = reader
  if (count > reader.end - at) refuse(reader, "MLS_MALFORMED", what)
  reader.at = at + count
  return at
}

export function uint8(reader: Reader, what: string): number {
  return reader.bytes[take(reader, 1, what)] ?? 0
}

export function uint16(reader: Reader, what: string): number {
  return bigEndian(reader.bytes, take(reader, 2, what), 2)
}

export function uint32(reader: Reader, what: string): number {
  return bigEndian(reader.bytes, take(reader, 4, what), 4)
}

export function uint64(reader: Reader, what: string): bigint {
  const at = take(reader, 8, what)
  return (BigInt(bigEndian(reader.bytes, at, 4)) << 32n) | BigInt(bigEndian(reader.bytes, at + 4, 4))
}

function bigEndian(bytes: Uint8Array, at: number, count: number): number {
  let value = 0
  for (let i = 0; i < count; i++) value = value * 256 + (bytes[at + i] ?? 0)
  return value
}

/** Reads the presence octet of an optional value (RFC 9420 section 2.1.1): 0 or 1. */
export function present(reader: Reader, what: string): boolean {
  const start = reader.at
  const octet = uint8(reader, what)
  if (octet > 1) refuse(reader, "MLS_MALFORMED", what, start)
  return octet === 1
}

const smallest = [0, 64, 16_384]

/** Reads a length below 2^30 in its shortest encoding (RFC 9420 section 2.1.2). */
function length(reader: Reader, what: string): number {
  const start = reader.at
  const first = uint8(reader, what)
  const size = first >> 6
  const floor = smallest[size]
  if (floor === undefined) return refuse(reader, "MLS_MALFORMED", what, start)
  const more = (1 << size) - 1
  const value = (first & 63) * 256 ** more + bigEndian(reader.bytes, take(reader, more, what), more)
  if (value < floor) refuse(reader, "MLS_NON_CANONICAL", what, start)
  return value
}

/** Reads a variable-size vector and returns a reader of its content. */
export function vector(reader: Reader, what: string): Reader {
  const size = length(reader, what)
  const at = take(reader, size, what)
  return { bytes: reader.bytes, at, end: reader.at }
}

/** Reads a variable-size vector of bytes. @param exactly The required length, if there is one. */
export function opaque(reader: Reader, what: string, exactly?: number): Uint8Array {
  const start = reader.at
  const { bytes, at, end } = vector(reader, what)
  if (exactly !== undefined && end - at !== exactly) refuse(reader, "MLS_MALFORMED", what, start)
  return bytes.subarray(at, end)
}

/** Reads a vector of uint16. @throws FramingRefused MLS_TOO_LARGE before the first element is read. */
export function uint16s(reader: Reader, what: string, most: number): number[] {
  const { bytes, at, end } = vector(reader, what)
  if (end - at > most * 2) refuse(reader, "MLS_TOO_LARGE", what, at)
  if ((end - at) % 2 !== 0) refuse(reader, "MLS_MALFORMED", what, at)
  const numbers: number[] = []
  for (let i = at; i < end; i += 2) numbers.push(((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0))
  return numbers
}

/** Reads the elements of a vector. @throws FramingRefused MLS_TOO_LARGE at the first element over the limit. */
export function list<T>(reader: Reader, what: string, most: number, element: (inside: Reader) => T): T[] {
  const inside = vector(reader, what)
  const elements: T[] = []
  while (!atEnd(inside)) {
    if (elements.length === most) refuse(inside, "MLS_TOO_LARGE", what)
    elements.push(element(inside))
  }
  return elements
}
