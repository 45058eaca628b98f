// Stores blobs in a folder. Each is written to a temporary file, synced and renamed, so that no name has only a part of
// its bytes. The hash of the key spreads names over 65,536 folders.
import { createHash, randomUUID } from "node:crypto"
import { constants, type Stats } from "node:fs"
import { lstat, mkdir, open, readdir, realpath, rename, unlink } from "node:fs/promises"
import { join } from "node:path"
import type { BlobStore } from "@signet/kernel/messaging/ports"
import { checkBytes, checkKey, maxBlobBytes, storageFull, unavailable } from "./key.ts"

/** The used part of the file system. Tests replace it by one that fails or stops at a chosen call. */
export const nodeFiles = { lstat, mkdir, open, readdir, realpath, rename, unlink }
export type Files = typeof nodeFiles

interface Place {
  /** From the root to the file's folder. */
  readonly folders: readonly string[]
  readonly path: string
}

/** The age in milliseconds at which an interrupted write's temporary file is removed. */
const staleMs = 3_600_000
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

/**
 * Opens the store. Several processes may share the folder if its file system implements rename and fsync as in POSIX.
 *
 * @param folder Created if missing, for the process's user only. It may be a symbolic link, but may contain none.
 * @throws Refused UNAVAILABLE, STORAGE_FULL
 */
export async function openFsBlobs(
  folder: string,
  { nowMs, files = nodeFiles }: { nowMs: number; files?: Files },
): Promise<BlobStore> {
  const { root, temporary } = await refusing(async () => {
    await files.mkdir(folder, { recursive: true, mode: 0o700 })
    const root = await files.realpath(folder)
    const temporary = join(root, "tmp")
    await makeFolder(files, root, temporary)
    await removeStale(files, temporary, nowMs)
    return { root, temporary }
  })

  const placeOf = (key: string): Place => {
    const name = checkKey(key).replaceAll("/", ".")
    const hash = createHash("sha256").update(key).digest("hex")
    const outer = join(root, hash.slice(0, 2))
    const inner = join(outer, hash.slice(2, 4))
    return { folders: [root, outer, inner], path: join(inner, name) }
  }

  return {
    put: (key, bytes) =>
      refusing(async () => {
        const { folders, path } = placeOf(key)
        const beside = join(temporary, randomUUID())
        try {
          await writeNew(files, beside, checkBytes(bytes))
          await makeFolders(files, folders)
          await files.rename(beside, path)
        } catch (error) {
          await files.unlink(beside).catch(() => undefined)
          throw error
        }
        await syncFolder(files, folders.at(-1) ?? root)
      }),

    get: (key) =>
      refusing(async () => {
        const { folders, path } = placeOf(key)
        if (!(await areFolders(files, folders))) return undefined
        return readWhole(files, path)
      }),

    size: (key) =>
      refusing(async () => {
        const { folders, path } = placeOf(key)
        if (!(await areFolders(files, folders))) return undefined
        const found = await statOf(files, path)
        return found && ensureFile(found).size
      }),

    delete: (key) =>
      refusing(async () => {
        const { folders, path } = placeOf(key)
        if (!(await areFolders(files, folders))) return
        try {
          await files.unlink(path)
        } catch (error) {
          if (codeOf(error) === "ENOENT") return
          throw error
        }
        await syncFolder(files, folders.at(-1) ?? root)
      }),

    presign: async () => undefined,
  }
}

async function writeNew(files: Files, path: string, bytes: Uint8Array): Promise<void> {
  const file = await files.open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function readWhole(files: Files, path: string): Promise<Uint8Array | undefined> {
  try {
    // Non-blocking: opening a named pipe without a writer would block.
    const file = await files.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      ensureFile(await file.stat())
      return new Uint8Array(await file.readFile())
    } finally {
      await file.close()
    }
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined
    throw error
  }
}

/** False if a folder is missing. @throws Error for a path that is no folder, or a link to one */
async function areFolders(files: Files, folders: readonly string[]): Promise<boolean> {
  for (const folder of folders) {
    const found = await statOf(files, folder)
    if (found === undefined) return false
    if (!found.isDirectory()) throw new Error("the blob path is not a folder")
  }
  return true
}

async function makeFolders(files: Files, folders: readonly string[]): Promise<void> {
  if (await areFolders(files, folders)) return
  let parent: string | undefined
  for (const folder of folders) {
    if (parent !== undefined) await makeFolder(files, parent, folder)
    parent = folder
  }
  await areFolders(files, folders)
}

async function makeFolder(files: Files, parent: string, folder: string): Promise<void> {
  await files.mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error
  })
  // Also after EEXIST: the process that created it may not have synced its parent yet.
  await syncFolder(files, parent)
}

async function syncFolder(files: Files, folder: string): Promise<void> {
  const opened = await files.open(folder, O_RDONLY)
  try {
    await opened.sync()
  } finally {
    await opened.close()
  }
}

async function removeStale(files: Files, temporary: string, nowMs: number): Promise<void> {
  for (const name of await files.readdir(temporary)) {
    const path = join(temporary, name)
    const found = await statOf(files, path)
    if (found === undefined || found.mtimeMs > nowMs - staleMs) continue
    // Another process may have removed it.
    await files.unlink(path).catch(() => undefined)
  }
}

async function statOf(files: Files, path: string): Promise<Stats | undefined> {
  return files.lstat(path).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined
    throw error
  })
}

function ensureFile(found: Stats): Stats {
  if (!found.isFile() || found.size > maxBlobBytes) throw new Error("a stored blob is missing or has the wrong size")
  return found
}

const fullCodes: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EFBIG"])

async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw fullCodes.has(codeOf(error)) ? storageFull(error) : unavailable(error)
  }
}

const codeOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined
