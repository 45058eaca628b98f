// The operations on files that a folder store is made of.
import { link, mkdir, readdir, readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { syncFolder, writeDurably } from "../durable-file.ts"

/** One folder. Names have no path in them. */
export interface FolderFiles {
  /** Makes the folder, for its owner alone. */
  make(): Promise<void>
  list(): Promise<string[]>
  /** Undefined for a file that is not there. */
  read(name: string): Promise<Uint8Array | undefined>
  /** A new file, on the disk under this name or not at all after a power cut. */
  write(name: string, bytes: Uint8Array): Promise<void>
  /** Gives a file one more name. @returns False where that name is taken: of several, one is first. */
  name(file: string, name: string): Promise<boolean>
  /** No error where it is gone already. */
  remove(name: string): Promise<void>
  /** From now on the names are on the disk too. */
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
