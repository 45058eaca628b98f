import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { memoryStorage } from "../core/testing/memory-platform.ts"
import { storageSuite } from "../core/testing/storage-suite.ts"
import { createFileStorage } from "./file-storage.ts"

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "signet-storage-"))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

storageSuite("memory", async () => memoryStorage())
storageSuite("files", async () => createFileStorage(join(folder(), "deep/below")))

test("the rest of an interrupted write is ignored", async () => {
  const path = folder()
  const storage = createFileStorage(path)
  await storage.write("a", new Uint8Array([1]), undefined)
  writeFileSync(join(path, "0123.new"), "half")
  expect((await storage.read("a"))?.bytes).toEqual(new Uint8Array([1]))
})

test("a truncated file is not treated as missing", async () => {
  const path = folder()
  const storage = createFileStorage(path)
  await storage.write("a", new Uint8Array([1]), undefined)
  for (const name of readdirSync(path)) truncateSync(join(path, name), 3)
  await expect(storage.read("a")).rejects.toThrow(/truncated/)
  expect(await storage.write("a", new Uint8Array([2]), "any")).toBeTruthy()
})

test("a folder that cannot be written changes nothing", async () => {
  const path = folder()
  const storage = createFileStorage(path)
  const revision = await storage.write("a", new Uint8Array([1]), undefined)
  // A folder has the file's name, so the rename fails for every user.
  const [name = ""] = readdirSync(path)
  rmSync(join(path, name))
  mkdirSync(join(path, name, "in the way"), { recursive: true })
  await expect(storage.write("a", new Uint8Array([2]), "any")).rejects.toMatchObject({ code: "EISDIR" })
  expect(readdirSync(path)).toEqual([name])
  expect(revision).toBeTruthy()
})

test("only the owner can access the files", async () => {
  const path = join(folder(), "own")
  await createFileStorage(path).write("a", new Uint8Array([1]), undefined)
  expect(statSync(path).mode & 0o777).toBe(0o700)
  for (const name of readdirSync(path)) expect(statSync(join(path, name)).mode & 0o777).toBe(0o600)
})

test("a folder that cannot be read is not treated as empty", async () => {
  const path = join(folder(), "file")
  writeFileSync(path, "")
  const storage = createFileStorage(path)
  await expect(storage.read("a")).rejects.toMatchObject({ code: "ENOTDIR" })
  await expect(storage.remove("a", "any")).rejects.toMatchObject({ code: "ENOTDIR" })
})
