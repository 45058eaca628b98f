import type { AttachmentSource } from "../attachments/source.ts"

/** The files of a program, as a core reads and writes them: signet.host.v1 FileInfo, FileRead and FileWrite. */
export interface CoreFiles {
  /** @returns The size in bytes; undefined for an unknown path. */
  size(path: string): Promise<number | undefined>
  /** Reads at most `length` bytes, fewer at the end. @throws Error for an unknown path. */
  read(path: string, offset: number, length: number): Promise<Uint8Array>
  /** Resolves once the reader has taken the bytes. @throws Error for an unknown path, and if the reader has left. */
  write(path: string, bytes: Uint8Array): Promise<void>
}

/** Something that a core may read or write under a name, until it is withdrawn. */
export interface NamedFile {
  readonly path: string
  withdraw(): void
}

export interface FileRegistry extends CoreFiles {
  /** Names a source that the core reads. */
  offer(source: AttachmentSource): NamedFile
  /** Names a new file, and passes each part that the core writes to the function. */
  receive(write: (bytes: Uint8Array) => Promise<void>): NamedFile
}

/** Names sources and sinks for a core. No name is used twice. */
export function createFileRegistry(): FileRegistry {
  const sources = new Map<string, AttachmentSource>()
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
    receive: (write) => name(sinks, write),
    size: async (path) => sources.get(path)?.size,
    async read(path, offset, length) {
      const source = found(sources, path)
      return new Uint8Array(await source.slice(offset, Math.min(offset + length, source.size)).arrayBuffer())
    },
    write: async (path, bytes) => found(sinks, path)(bytes),
  }
}
