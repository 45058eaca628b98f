import { equalBytes, utf8 } from "@signet/canonical/bytes"
import { concat } from "../crypto/bytes.ts"
import { MessagingError } from "../errors.ts"
import { maxChunkBytes, tagBytes } from "./chunks.ts"
import { damaged } from "./header.ts"
import { type BackupSource, piecesOf } from "./pieces.ts"

/** The first bytes of every backup. */
export const magic = utf8("SIGNETBK")
const lengthBytes = 4
const maxFrameBytes = maxChunkBytes + tagBytes

export function frameOf(bytes: Uint8Array): Uint8Array {
  const length = new Uint8Array(lengthBytes)
  new DataView(length.buffer).setUint32(0, bytes.length)
  return concat(length, bytes)
}

/**
 * Reads the frames of a backup. At most one of them is in memory, and one piece of the source.
 *
 * @throws MessagingError BACKUP_TAMPERED; BACKUP_INCOMPLETE if the source ends within a frame
 */
export async function* framesIn(source: BackupSource): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = readerOf(source)
  try {
    const first = await reader.take(magic.length)
    if (first === undefined || !equalBytes(first, magic)) throw damaged("it does not begin as a backup")
    for (;;) {
      const length = await reader.take(lengthBytes)
      if (length === undefined) return
      const size = new DataView(length.buffer).getUint32(0)
      if (size > maxFrameBytes) throw damaged("a frame exceeds 4 MiB")
      const frame = await reader.take(size)
      if (frame === undefined) throw incomplete()
      yield frame
    }
  } finally {
    await reader.close()
  }
}

export const incomplete = (): MessagingError =>
  new MessagingError("BACKUP_INCOMPLETE", "the backup ends before its last chunk: copy the whole file")

interface Reader {
  /** Reads exactly that many bytes into a buffer of their own; undefined at the end. */
  take(size: number): Promise<Uint8Array<ArrayBuffer> | undefined>
  close(): Promise<void>
}

function readerOf(source: BackupSource): Reader {
  const pieces = piecesOf(source)
  let piece: Uint8Array = new Uint8Array()
  let isOpen = true
  return {
    async take(size) {
      const taken = new Uint8Array(size)
      for (let filled = 0; filled < size; ) {
        if (piece.length === 0) {
          isOpen = false
          const { value, done } = await pieces.next()
          isOpen = done !== true
          if (done === true) {
            if (filled === 0) return undefined
            throw incomplete()
          }
          piece = value
          continue
        }
        const part = piece.subarray(0, size - filled)
        taken.set(part, filled)
        filled += part.length
        piece = piece.subarray(part.length)
      }
      return taken
    },
    async close() {
      if (isOpen) await pieces.return?.()
    },
  }
}
