// The file operations of a folder store.
import { link, mkdir, readdir, readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { syncFolder, writeDurably } from "../durable-file.ts"

/** One folder. Names contain no path. */
export interface FolderFiles {
  /** Creates the folder, which only its owner can access. */
  make(): Promise<void>
  list(): Promise<string[]>
  /** Undefined for a missing file. */
  read(name: string): Promise<Uint8Array | undefined>
  /** Writes a new file. After a power failure it is complete or missing. */
  write(name: string, bytes: Uint8Array): Promise<void>
  /** Adds a name to a file. @returns False if the name exists: of several callers, one succeeds. */
  name(file: string, name: string): Promise<boolean>
  /** No error if the file is missing. */
  remove(name: string): Promise<void>
  /** Makes the names durable. */
  sync(): Promise<void>
}

export function folderFiles(folder: string): FolderFiles {
  const path = (name: string) => join(folder, name)
  return {
    make: async () => void (await mkdir(folder, { recursive: true, mode: 0o700 })),
    list: () => readdir(folder),
    read: (name) => readFile(path(name)).catch(unless("ENOENT", undefined)),
    write: (name, bytes) => writeDurably(path(name), bytes),
    name: (file, name) => link(path(file), path(name)).then(() => true, unless("EEXIST", false)),
    remove: (name) => rm(path(name), { force: true }),
    sync: () => syncFolder(folder),
  }
}

const unless =
  <T>(code: string, instead: T) =>
  (error: unknown): T => {
    if (codeOf(error) === code) return instead
    throw error
  }

export const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined)
