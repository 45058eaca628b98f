// The layout of an attachment's ciphertext: a header, then chunks with one tag each (STREAM with a 32-bit counter).

/** Plaintext bytes of each chunk but the last, in attachments that this client encrypts. */
export const chunkBytes = 65_536
const smallestChunk = 4_096
const largestChunk = 1_048_576
export const tagBytes = 16
export const saltBytes = 16
export const prefixBytes = 7
const magic = Uint8Array.from("MSGATT1", (letter) => letter.charCodeAt(0))
/** AES-256-GCM. */
const algorithm = 1
export const headerBytes = magic.length + 1 + 4 + saltBytes + prefixBytes

/** The largest ciphertext that a service accepts. */
const maxCiphertextBytes = 104_857_600

/** True for a part size that this client accepts from a service: it bounds the memory and the number of requests. */
export const isPartSize = (bytes: number): boolean => bytes >= 4_096 && bytes <= 8_388_608

export interface Layout {
  readonly plaintextSize: number
  /** The plaintext size with its zero padding: the only size that an observer learns. */
  readonly paddedSize: number
  readonly chunkSize: number
  readonly chunkCount: number
  readonly ciphertextSize: number
}

/**
 * Pads a size (Padmé) by at most 12 percent, so that it leaks O(log log size) bits.
 */
export function padme(size: number): number {
  if (size < 2) return size
  const exponent = Math.floor(Math.log2(size))
  const step = 2 ** (exponent - Math.floor(Math.log2(exponent)) - 1)
  return Math.ceil(size / step) * step
}

/** @returns Undefined for an invalid plaintext or chunk size, and above `maxCiphertextBytes`. */
export function layoutOf(plaintextSize: number, chunkSize: number): Layout | undefined {
  const isSize = Number.isSafeInteger(plaintextSize) && plaintextSize >= 0
  const isChunk = Number.isInteger(chunkSize) && chunkSize >= smallestChunk && chunkSize <= largestChunk
  if (!isSize || !isChunk) return undefined
  const paddedSize = padme(plaintextSize)
  const chunkCount = Math.max(1, Math.ceil(paddedSize / chunkSize))
  const ciphertextSize = headerBytes + paddedSize + chunkCount * tagBytes
  if (ciphertextSize > maxCiphertextBytes) return undefined
  return { plaintextSize, paddedSize, chunkSize, chunkCount, ciphertextSize }
}

/** The offsets of a chunk in the padded plaintext. */
export function chunkAt({ chunkSize, paddedSize }: Layout, index: number): { from: number; to: number } {
  return { from: index * chunkSize, to: Math.min((index + 1) * chunkSize, paddedSize) }
}

/** The offsets of a chunk and its tag in the ciphertext. */
export function sealedAt(layout: Layout, index: number): { from: number; to: number } {
  const { from, to } = chunkAt(layout, index)
  const start = headerBytes + from + index * tagBytes
  return { from: start, to: start + (to - from) + tagBytes }
}

export function headerOf(chunkSize: number, salt: Uint8Array, prefix: Uint8Array): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(headerBytes)
  header.set(magic)
  header[magic.length] = algorithm
  new DataView(header.buffer).setUint32(magic.length + 1, chunkSize)
  header.set(salt, magic.length + 5)
  header.set(prefix, magic.length + 5 + saltBytes)
  return header
}

export const prefixIn = (header: Uint8Array): Uint8Array => header.subarray(headerBytes - prefixBytes)
