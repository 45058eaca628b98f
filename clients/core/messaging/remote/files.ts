import type { AttachmentSource } from "../attachments/source.ts"
import { type BackupSource, piecesOf } from "../backup/pieces.ts"

/** The files of a program, as a core reads and writes them: signet.host.v1 FileInfo, FileRead and FileWrite. */
interface CoreFiles {
  /** @returns The size in bytes; undefined for an unknown path. */
  size(path: string): Promise<number | undefined>
  /** Reads at most `length` bytes, fewer at the end. @throws Error for an unknown path. */
  read(path: string, offset: number, length: number): Promise<Uint8Array>
  /** Resolves once the reader has taken the bytes. @throws Error for an unknown path, and if the reader has left. */
  write(path: string, bytes: Uint8Array): Promise<void>
}

/** Something that a core may read or write under a name, until it is withdrawn. */
interface NamedFile {
  readonly path: string
  withdraw(): void
}

export interface FileRegistry extends CoreFiles {
  /** Names a source that the core reads. */
  offer(source: AttachmentSource): NamedFile
  /** Names a source that the core reads once, from its start, to an end that is not known before. */
  offerInOrder(source: BackupSource): NamedFile & {
    /** The error of the source, which the core does not learn. */
    readonly failure: { readonly error: unknown } | undefined
  }
  /** Names a new file, and passes each part that the core writes to the function. */
  receive(write: (bytes: Uint8Array) => Promise<void>): NamedFile
}

/** Names sources and sinks for a core. No name is used twice. */
export function createFileRegistry(): FileRegistry {
  const sources = new Map<string, AttachmentSource>()
  const streams = new Map<string, InOrder>()
  const sinks = new Map<string, (bytes: Uint8Array) => Promise<void>>()
  let last = 0
  function name<T>(files: Map<string, T>, file: T): NamedFile {
    last += 1
    const path = `app:${last}`
    files.set(path, file)
    return { path, withdraw: () => void files.delete(path) }
  }
  const found = <T>(files: Map<string, T>, path: string): T => {
    const file = files.get(path)
    if (file === undefined) throw new Error(`${path} is not offered`)
    return file
  }
  return {
    offer: (source) => name(sources, source),
    offerInOrder(source) {
      const stream = inOrder(source)
      const { path, withdraw } = name(streams, stream)
      return {
        path,
        withdraw() {
          withdraw()
          stream.close()
        },
        get failure() {
          return stream.failure
        },
      }
    },
    receive: (write) => name(sinks, write),
    size: async (path) => sources.get(path)?.size,
    async read(path, offset, length) {
      const stream = streams.get(path)
      if (stream !== undefined) return stream.read(offset, length)
      const source = found(sources, path)
      return new Uint8Array(await source.slice(offset, Math.min(offset + length, source.size)).arrayBuffer())
    },
    write: async (path, bytes) => found(sinks, path)(bytes),
  }
}

interface InOrder {
  /** @returns Fewer bytes only at the end. @throws Error for another offset than the end of the last read. */
  read(offset: number, length: number): Promise<Uint8Array>
  readonly failure: { readonly error: unknown } | undefined
  close(): void
}

function inOrder(source: BackupSource): InOrder {
  const pieces = piecesOf(source)
  let rest: Uint8Array = new Uint8Array()
  let position = 0
  let failure: { readonly error: unknown } | undefined

  async function next(): Promise<IteratorResult<Uint8Array>> {
    try {
      return await pieces.next()
    } catch (error) {
      failure = { error }
      throw error
    }
  }

  return {
    get failure() {
      return failure
    },
    async read(offset, length) {
      if (offset !== position) throw new Error("the source is read in order")
      const filled = new Uint8Array(length)
      let at = 0
      while (at < length) {
        if (rest.length === 0) {
          const { value, done } = await next()
          if (done === true) break
          rest = value
          continue
        }
        const part = rest.subarray(0, length - at)
        filled.set(part, at)
        at += part.length
        rest = rest.subarray(part.length)
      }
      position += at
      return filled.subarray(0, at)
    },
    close: () => void Promise.resolve(pieces.return?.()).catch(() => undefined),
  }
}
