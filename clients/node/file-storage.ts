// A store in a folder that only its owner can access: one file per name, written completely before it gets its name.
import { createHash, randomBytes } from "node:crypto"
import { mkdir, readFile, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import type { ByteStorage, StoredBytes } from "@signet/client"
import { syncFolder, writeDurably } from "./durable-file.ts"

const revisionBytes = 16

/**
 * A store of files. A writer that expects a revision must hold a lock: two concurrent comparisons would both succeed.
 *
 * @param folder Created at the first write.
 */
export function createFileStorage(folder: string): ByteStorage {
  const fileOf = (name: string) => join(folder, `${createHash("sha256").update(name).digest("base64url")}.kept`)

  async function read(name: string): Promise<StoredBytes | undefined> {
    const whole = await readFile(fileOf(name)).catch(orUndefined)
    if (whole === undefined) return undefined
    if (whole.length < revisionBytes) throw new Error("a stored file is truncated")
    const revision = whole.subarray(0, revisionBytes).toString("base64url")
    return { revision, bytes: new Uint8Array(whole.subarray(revisionBytes)) }
  }
  const isExpected = async (name: string, expected: string | undefined): Promise<boolean> =>
    expected === "any" || (await read(name))?.revision === expected

  return {
    read,
    async write(name, bytes, expected) {
      if (!(await isExpected(name, expected))) return undefined
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const revision = randomBytes(revisionBytes)
      const fresh = join(folder, `${revision.toString("hex")}.new`)
      try {
        await writeDurably(fresh, Buffer.concat([revision, bytes]))
        await rename(fresh, fileOf(name))
      } catch (error) {
        await rm(fresh, { force: true })
        throw error
      }
      await syncFolder(folder)
      return revision.toString("base64url")
    },
    async remove(name, expected) {
      const kept = await readFile(fileOf(name)).catch(orUndefined)
      if (kept === undefined) return true
      if (!(await isExpected(name, expected))) return false
      await rm(fileOf(name), { force: true })
      await syncFolder(folder)
      return true
    },
  }
}

function orUndefined(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined
  throw error
}
