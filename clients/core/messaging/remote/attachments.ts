import { type OpenedAttachment, type ReadOptions, rangeOf, streamOf } from "../attachments/reading.ts"
import { MessagingError } from "../errors.ts"
import type { CoreCalls } from "./core.ts"
import type { FileRegistry } from "./files.ts"
import { writtenBy } from "./written-by.ts"

/** The largest range of one ReadAttachment. */
const pieceBytes = 1_048_576

/** The attachment of a timeline entry. A whole file is verified by its hash, a range by the tags of its chunks. */
export async function openRemoteAttachment(
  calls: CoreCalls,
  files: FileRegistry,
  conversationId: string,
  seq: bigint,
): Promise<OpenedAttachment> {
  const { entries } =
    seq < 1n ? { entries: [] } : await calls.listTimeline({ conversationId, afterSeq: seq - 1n, limit: 1 })
  const file = entries.find((one) => one.seq === seq && one.entry.case === "attachment")?.entry
  if (file?.case !== "attachment") {
    throw new MessagingError("ATTACHMENT_UNKNOWN", "no such attachment on this device")
  }
  const { fileName, mediaType } = file.value
  const size = Number(file.value.size)
  const place = { conversationId, seq }

  async function* pieces(options: ReadOptions): AsyncGenerator<Uint8Array> {
    const { signal } = options
    const { from, to } = rangeOf(options, size)
    const isRest = to === size && (from < to || from === 0)
    const save = async (path: string) => calls.saveAttachment({ ...place, path, from: BigInt(from) })
    const source = isRest ? writtenBy(files, save) : ranges(from, to)
    signal?.throwIfAborted()
    for await (const piece of source) {
      yield piece
      signal?.throwIfAborted()
    }
  }

  async function* ranges(from: number, to: number): AsyncGenerator<Uint8Array> {
    for (let at = from; at < to; at += pieceBytes) {
      const end = Math.min(at + pieceBytes, to)
      const { bytes } = await calls.readAttachment({ ...place, from: BigInt(at), to: BigInt(end) })
      yield bytes
    }
  }

  return {
    ...{ fileName, mediaType, size },
    stream: (options = {}) => streamOf(pieces(options), options, size),
    async read(from, to, options = {}) {
      const range = rangeOf({ from, to }, size)
      const bytes = new Uint8Array(range.to - range.from)
      let at = 0
      for await (const piece of pieces({ ...options, ...range })) {
        bytes.set(piece, at)
        at += piece.length
      }
      return bytes
    },
  }
}
