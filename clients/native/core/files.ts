// Attachments in files that the app names.
import type { AttachmentSource } from "../../core/messaging/attachments/source.ts"
import { perform } from "./effects.ts"
import { HostError } from "./host.ts"

/** The most bytes of one read or write. */
const pieceBytes = 256 * 1024

export async function openFile(path: string): Promise<AttachmentSource> {
  const { size } = await perform({ case: "fileInfo", value: { path } }, "fileInfo")
  return {
    size: Number(size),
    slice: (start, end) => ({ arrayBuffer: async () => (await readRange(path, start, end)).buffer }),
  }
}

/** Reads a file from its start to its end, whose size is not known before. */
export async function* readInOrder(path: string): AsyncGenerator<Uint8Array> {
  for (let offset = 0; ; ) {
    const value = { path, offset: BigInt(offset), length: pieceBytes }
    const { bytes } = await perform({ case: "fileRead", value }, "fileRead")
    if (bytes.length > pieceBytes) throw new HostError("HOST_REFUSED", "the host read more than was requested")
    offset += bytes.length
    yield bytes
    if (bytes.length < pieceBytes) return
  }
}

/** Fewer bytes than requested at the end of the file. */
async function readRange(path: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  const all = new Uint8Array(end - start)
  let at = 0
  while (at < all.length) {
    const length = Math.min(pieceBytes, all.length - at)
    const value = { path, offset: BigInt(start + at), length }
    const { bytes } = await perform({ case: "fileRead", value }, "fileRead")
    if (bytes.length > length) throw new HostError("HOST_REFUSED", "the host read more than was requested")
    all.set(bytes, at)
    at += bytes.length
    if (bytes.length < length) break
  }
  return all.subarray(0, at).slice()
}

/** Writes the pieces to a file. The last write, which may be empty, makes the file durable. @returns The file's size. */
export async function writeFile(path: string, from: number, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  let offset = from
  const write = async (bytes: Uint8Array, isLast: boolean) => {
    await perform({ case: "fileWrite", value: { path, offset: BigInt(offset), bytes, isLast } }, "done")
    offset += bytes.length
  }
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += pieceBytes) await write(piece.subarray(at, at + pieceBytes), false)
  }
  await write(new Uint8Array(), true)
  return offset
}
