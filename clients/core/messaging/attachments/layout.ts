// How an attachment's ciphertext is laid out: a header, then chunks, each with its tag (STREAM with a 32-bit counter).

/** Plaintext bytes in each chunk but the last, as this client makes them. */
export const chunkBytes = 65_536
const smallestChunk = 4_096
const largestChunk = 1_048_576
export const tagBytes = 16
export const saltBytes = 16
export const prefixBytes = 7
const magic = new TextEncoder().encode("MSGATT1")
/** AES-256-GCM. */
const algorithm = 1
export const headerBytes = magic.length + 1 + 4 + saltBytes + prefixBytes

/** Bytes of ciphertext that a service takes. */
export const maxCiphertextBytes = 104_857_600

/** Whether a service may cut ciphertext so: one part is in memory, and there are not ever so many. */
export const isPartSize = (bytes: number): boolean => bytes >= 4_096 && bytes <= 8_388_608

export interface Layout {
  readonly plaintextSize: number
  /** With the zeros after it: the one size that an observer learns. */
  readonly paddedSize: number
  readonly chunkSize: number
  readonly chunkCount: number
  readonly ciphertextSize: number
}

/**
 * The size that a size is hidden in (Padmé): at most 12 percent more, and for sizes of n bits only log2 n of them differ.
 */
export function padme(size: number): number {
  if (size < 2) return size
  const exponent = Math.floor(Math.log2(size))
  const step = 2 ** (exponent - Math.floor(Math.log2(exponent || 1)) - 1)
  return step < 1 ? size : Math.ceil(size / step) * step
}

/** @returns undefined for a size or a chunk size that is not taken. */
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

/** Where a chunk's plaintext is, the zeros after it included. */
export function chunkAt({ chunkSize, paddedSize }: Layout, index: number): { from: number; to: number } {
  return { from: index * chunkSize, to: Math.min((index + 1) * chunkSize, paddedSize) }
}

/** Where a chunk is in the ciphertext, with its tag. */
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
