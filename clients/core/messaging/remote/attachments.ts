import { type OpenedAttachment, type ReadOptions, rangeOf, streamOf } from "../attachments/reading.ts"
import { MessagingError } from "../errors.ts"
import type { CoreCalls } from "./core.ts"
import type { FileRegistry } from "./files.ts"

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
    const source = to === size && (from < to || from === 0) ? saved(calls, files, place, from) : ranges(from, to)
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

interface Part {
  readonly bytes: Uint8Array
  taken(): void
  drop(): void
}

/** The bytes from an offset to the end, as the core writes them. The core waits until each part is read. */
async function* saved(
  calls: CoreCalls,
  files: FileRegistry,
  place: { readonly conversationId: string; readonly seq: bigint },
  from: number,
): AsyncGenerator<Uint8Array> {
  // The core writes one part at a time.
  let part: Part | undefined
  let end: { readonly error?: unknown } | undefined
  let wake = () => {}
  const { path, withdraw } = files.receive(
    (bytes) =>
      new Promise((taken, reject) => {
        part = { bytes, taken, drop: () => reject(new Error("the reader has left")) }
        wake()
      }),
  )
  const ended = (how: { readonly error?: unknown }) => {
    end = how
    wake()
  }
  calls.saveAttachment({ ...place, path, from: BigInt(from) }).then(
    () => ended({}),
    (error: unknown) => ended({ error }),
  )
  try {
    for (;;) {
      const waiting: Part | undefined = part
      if (waiting !== undefined) {
        yield waiting.bytes
        part = undefined
        waiting.taken()
      } else if (end !== undefined) {
        if ("error" in end) throw end.error
        return
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  } finally {
    withdraw()
    part?.drop()
  }
}
