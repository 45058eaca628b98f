const firstCapacity = 512

/**
 * Writes the presentation language of RFC 9420 section 2.1 into one buffer. The encoders of ts-mls make several objects
 * for each number, and nest a call for each element.
 */
export class ByteWriter {
  #bytes = new Uint8Array(firstCapacity)
  #at = 0

  uint8(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#at++] = value
  }

  uint16(value: number): void {
    this.#reserve(2)
    this.#bytes[this.#at++] = value >>> 8
    this.#bytes[this.#at++] = value
  }

  uint32(value: number): void {
    this.uint16(value >>> 16)
    this.uint16(value)
  }

  uint64(value: bigint): void {
    this.uint32(Number(value >> 32n))
    this.uint32(Number(value & 0xffff_ffffn))
  }

  /** Writes bytes without their length. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
  }

  /** Writes a vector of bytes. */
  opaque(bytes: Uint8Array): void {
    this.#length(bytes.length)
    this.raw(bytes)
  }

  /** Writes a vector of uint16. */
  uint16s(values: readonly number[]): void {
    this.#length(values.length * 2)
    for (const value of values) this.uint16(value)
  }

  /** Writes a vector of elements. */
  list<T>(values: readonly T[], write: (part: ByteWriter, value: T) => void): void {
    // The length is known after the elements. Most vectors are short, and have a length of one byte.
    const start = this.#at
    this.uint8(0)
    for (const value of values) write(this, value)
    const end = this.#at
    const length = end - start - 1
    const moved = sizeOfLength(length) - 1
    if (moved > 0) {
      this.#reserve(moved)
      this.#bytes.copyWithin(start + 1 + moved, start + 1, end)
    }
    this.#at = start
    this.#length(length)
    this.#at = end + moved
  }

  /** Returns a copy of the bytes written so far. */
  written(): Uint8Array {
    return this.#bytes.slice(0, this.#at)
  }

  #length(length: number): void {
    const size = sizeOfLength(length)
    if (size === 1) this.uint8(length)
    else if (size === 2) this.uint16(length + 0x4000)
    else this.uint32(length + 0x8000_0000)
  }

  #reserve(size: number): void {
    if (this.#at + size <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#at + size))
    larger.set(this.#bytes)
    this.#bytes = larger
  }
}

/** The fewest bytes that a length fits into (section 2.1.2). */
function sizeOfLength(length: number): 1 | 2 | 4 {
  if (length < 2 ** 6) return 1
  if (length < 2 ** 14) return 2
  if (length < 2 ** 30) return 4
  throw new RangeError("a vector has at most 2^30 - 1 bytes")
}
