import { demand } from "./refusal.ts"
import type { Decoder } from "./ts-mls.ts"

/**
 * Reads the presentation language of RFC 9420 section 2.1. ts-mls makes several objects for each number, and their
 * garbage collection costs more than the decoding. Accepts non-minimal lengths, as ts-mls does.
 *
 * Every method throws MlsError MLS_MALFORMED if its bytes extend beyond the input, or beyond the list that is being read.
 */
export class ByteReader {
  readonly #bytes: Uint8Array
  #at: number
  #end: number

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes
    this.#at = at
    this.#end = bytes.length
  }

  get at(): number {
    return this.#at
  }

  uint8(): number {
    const at = this.#skip(1)
    return this.#bytes[at] ?? 0
  }

  uint16(): number {
    const at = this.#skip(2)
    return this.#uint16At(at)
  }

  uint32(): number {
    const at = this.#skip(4)
    return this.#uint16At(at) * 2 ** 16 + this.#uint16At(at + 2)
  }

  uint64(): bigint {
    return BigInt(this.uint32()) * 2n ** 32n + BigInt(this.uint32())
  }

  /** A view of the bytes of a vector. */
  opaque(): Uint8Array {
    const length = this.#length()
    const at = this.#skip(length)
    return this.#bytes.subarray(at, at + length)
  }

  /** Reads a vector of uint16: about half of the elements of a leaf. */
  uint16s(): number[] {
    const length = this.#length()
    const at = this.#skip(length)
    demand(length % 2 === 0, "MLS_MALFORMED", "the bytes are truncated")
    const values: number[] = []
    for (let i = at; i < at + length; i += 2) values.push(this.#uint16At(i))
    return values
  }

  /** Reads the elements of a vector. They end where the vector ends. */
  list<T>(read: (part: ByteReader) => T): T[] {
    const length = this.#length()
    const outside = this.#end
    demand(this.#at + length <= outside, "MLS_MALFORMED", "the bytes are truncated")
    this.#end = this.#at + length
    const values: T[] = []
    while (this.#at < this.#end) values.push(read(this))
    this.#end = outside
    return values
  }

  /** Skips these bytes, and returns true, if they are the next ones. */
  skipped(bytes: readonly number[]): boolean {
    const isNext = this.#at + bytes.length <= this.#end && bytes.every((byte, i) => this.#bytes[this.#at + i] === byte)
    if (isNext) this.#at += bytes.length
    return isNext
  }

  /** Reads a structure by a decoder of ts-mls. */
  by<T>(decode: Decoder<T>): T {
    const decoded = decode(this.#bytes.subarray(0, this.#end), this.#at)
    demand(decoded !== undefined, "MLS_MALFORMED", "the bytes do not decode")
    this.#skip(decoded[1])
    return decoded[0]
  }

  /** The length of a vector (section 2.1.2), whose first two bits give its own size. */
  #length(): number {
    const first = this.uint8()
    if (first < 0x40) return first
    demand(first < 0xc0, "MLS_MALFORMED", "a length of eight bytes")
    if (first < 0x80) return (first - 0x40) * 2 ** 8 + this.uint8()
    return (first - 0x80) * 2 ** 24 + this.uint8() * 2 ** 16 + this.uint16()
  }

  #uint16At(at: number): number {
    return (this.#bytes[at] ?? 0) * 2 ** 8 + (this.#bytes[at + 1] ?? 0)
  }

  /** Returns the offset of the next bytes, and moves after them. */
  #skip(size: number): number {
    const at = this.#at
    demand(at + size <= this.#end, "MLS_MALFORMED", "the bytes are truncated")
    this.#at = at + size
    return at
  }
}
