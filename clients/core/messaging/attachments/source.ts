import { MessagingError } from "../errors.ts"
import type { ChunkCipher } from "./chunk-cipher.ts"
import { chunkAt, headerBytes, type Layout, sealedAt, tagBytes } from "./layout.ts"

/**
 * The bytes of an attachment: a Blob or File of a browser, or the result of `openAsBlob` of `node:fs`. They are read
 * twice, in slices: first to hash them, then to upload them.
 */
export interface AttachmentSource {
  /** In bytes. */
  readonly size: number
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> }
}

/** Reads and encrypts one chunk of the source. @throws MessagingError ATTACHMENT_SOURCE_CHANGED */
export async function sealChunk(
  cipher: ChunkCipher,
  layout: Layout,
  source: AttachmentSource,
  index: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const { from, to } = chunkAt(layout, index)
  const padded = new Uint8Array(to - from)
  const end = Math.min(to, layout.plaintextSize)
  if (end > from) {
    const bytes = new Uint8Array(await readSlice(source, from, end))
    if (bytes.length !== end - from) throw changed()
    padded.set(bytes)
  }
  const sealed = await cipher.seal(index, padded)
  padded.fill(0)
  return sealed
}

async function readSlice(source: AttachmentSource, from: number, to: number): Promise<ArrayBuffer> {
  try {
    return await source.slice(from, to).arrayBuffer()
  } catch (cause) {
    throw changed(cause)
  }
}

/**
 * Encrypts the chunks of a range of the ciphertext.
 *
 * @param tags The tags of all chunks from the first reading. A different tag means that the source has changed: one key
 *   and nonce must not encrypt two plaintexts.
 * @throws MessagingError ATTACHMENT_SOURCE_CHANGED
 */
export async function sealRange(
  cipher: ChunkCipher,
  layout: Layout,
  source: AttachmentSource,
  tags: Uint8Array,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Uint8Array<ArrayBuffer>> {
  const piece = new Uint8Array(to - from)
  if (from < headerBytes) piece.set(cipher.header.subarray(from, Math.min(to, headerBytes)))
  const sealedChunk = layout.chunkSize + tagBytes
  const first = Math.max(0, Math.floor((from - headerBytes) / sealedChunk))
  for (let index = first; index < layout.chunkCount; index++) {
    const at = sealedAt(layout, index)
    if (at.from >= to) break
    const sealed = await sealChunk(cipher, layout, source, index)
    if (!isTagged(sealed, tags, index)) throw changed()
    const start = Math.max(at.from, from)
    piece.set(sealed.subarray(start - at.from, Math.min(at.to, to) - at.from), start - from)
  }
  return piece
}

function isTagged(sealed: Uint8Array, tags: Uint8Array, index: number): boolean {
  const tag = sealed.subarray(sealed.length - tagBytes)
  return tag.every((byte, i) => byte === tags[index * tagBytes + i])
}

const changed = (cause?: unknown) =>
  new MessagingError("ATTACHMENT_SOURCE_CHANGED", "the file's content has changed since the upload began", { cause })
