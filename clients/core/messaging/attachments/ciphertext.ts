import { type Attachment, Attachment_Status } from "@signet/proto/messaging/v1/records"
import type { Context } from "../context.ts"
import { MessagingError } from "../errors.ts"
import { isPartSize } from "./layout.ts"
import { withRetries } from "./retries.ts"

/** Reads ranges of a stored ciphertext. At most one part is in memory. */
export interface Ciphertext {
  read(from: number, to: number, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer>>
}

/**
 * @param fetchPart Returns a part: `partSize` bytes, fewer for the last one.
 * @throws MessagingError ATTACHMENT_TAMPERED for a part of another length.
 */
export function ciphertextIn(
  size: number,
  partSize: number,
  fetchPart: (index: number, signal?: AbortSignal) => Promise<Uint8Array>,
): Ciphertext {
  let stored: { readonly index: number; readonly bytes: Uint8Array } | undefined
  return {
    async read(from, to, signal) {
      const range = new Uint8Array(to - from)
      for (let at = from; at < to; ) {
        const index = Math.floor(at / partSize)
        if (stored?.index !== index) {
          stored = undefined
          const bytes = await fetchPart(index, signal)
          if (bytes.length !== Math.min(partSize, size - index * partSize))
            throw tampered("an attachment part has another size")
          stored = { index, bytes }
        }
        const start = at - index * partSize
        const piece = stored.bytes.subarray(start, start + (to - at))
        range.set(piece, at - from)
        at += piece.length
      }
      return range
    },
  }
}

/** The ciphertext of an attachment at the service. Its part size is fetched before the first read. */
export function remoteCiphertext(context: Context, attachmentId: string, size: number): () => Promise<Ciphertext> {
  const { attachments } = context.calls
  let partSize: number | undefined
  return async () => {
    partSize ??= await withRetries(context, undefined, async () =>
      partSizeOf((await attachments.getAttachment({ attachmentId })).attachment, size),
    )
    return ciphertextIn(size, partSize, async (index, signal) => {
      const call = signal === undefined ? {} : { signal }
      const { data } = await withRetries(context, signal, () => attachments.downloadPart({ attachmentId, index }, call))
      return data
    })
  }
}

function partSizeOf(attachment: Attachment | undefined, size: number): number {
  if (attachment?.status !== Attachment_Status.COMPLETE) throw tampered("the header is truncated")
  if (attachment.size !== BigInt(size) || !isPartSize(attachment.partSize)) throw tampered("the size differs")
  return attachment.partSize
}

const tampered = (message: string) => new MessagingError("ATTACHMENT_TAMPERED", message)
