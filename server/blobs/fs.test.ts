import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import type { BlobStore } from "@signet/kernel/messaging/ports"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { fastTmpdir } from "../../test/support/fast-tmpdir.ts"
import { type Files, nodeFiles, openFsBlobs } from "./fs.ts"
import { maxBlobBytes } from "./key.ts"

let root: string
beforeEach(() => {
  root = mkdtempSync(join(fastTmpdir(), "blobs-"))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const key = "att/att_00000000000000000000000000/7"
const bytes = Uint8Array.of(1, 2, 3)
const open = (files: Files = nodeFiles) => openFsBlobs(root, { nowMs: Date.now(), files })
const reasonOf = (call: Promise<unknown>) => call.then(() => "done").catch((error) => error.reason)
/** Of a put, a get, a size and a delete. */
const reasonsOf = (blobs: BlobStore, of: string) =>
  Promise.all([blobs.put(of, bytes), blobs.get(of), blobs.size(of), blobs.delete(of)].map(reasonOf))
const pathOf = (of: string) => {
  const hash = createHash("sha256").update(of).digest("hex")
  return join(root, hash.slice(0, 2), hash.slice(2, 4), of.replaceAll("/", "."))
}
const filesIn = () => readdirSync(root, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
const failing = (code: string) => async () => {
  throw Object.assign(new Error(code), { code })
}

test("a folder stores, returns and deletes a blob", async () => {
  const blobs = await open()
  expect([await blobs.get(key), await blobs.size(key)]).toEqual([undefined, undefined])
  await blobs.put(key, bytes)
  expect([await blobs.get(key), await blobs.size(key)]).toEqual([bytes, 3])
  expect(await (await open()).get(key)).toEqual(bytes)
  await blobs.put(key, Uint8Array.of(4))
  expect(await blobs.get(key)).toEqual(Uint8Array.of(4))
  expect(statSync(pathOf(key)).mode & 0o777).toBe(0o600)
  await blobs.delete(key)
  await blobs.delete(key)
  expect([await blobs.get(key), filesIn()]).toEqual([undefined, []])
  expect(await blobs.presign("GET", key, 3)).toBeUndefined()
})

test("concurrent writers of one key leave one complete blob", async () => {
  const [one, other] = [await open(), await open()]
  const parts = Array.from({ length: 12 }, (_, i) => new Uint8Array(5_000).fill(i))
  await Promise.all(parts.map((part, i) => (i % 2 ? one : other).put(key, part)))
  const kept = (await one.get(key)) ?? expect.fail()
  expect(kept).toEqual(parts[kept[0] ?? 0])
  expect(filesIn().length).toBe(1)
})

describe("stopped", () => {
  /** Every call that put makes, in order, with what opens file handles told apart. */
  function recorded(stopAt: number): { files: Files; calls: string[] } {
    const calls: string[] = []
    const step = (name: string) => {
      calls.push(name)
      // Everything after is gone too: a process that was killed cleans nothing up.
      if (calls.length > stopAt) throw Object.assign(new Error("killed"), { code: "EIO" })
    }
    const files: Files = {
      ...nodeFiles,
      mkdir: (async (path: string, options: { mode: number }) => {
        step("mkdir")
        return nodeFiles.mkdir(path, options)
      }) as Files["mkdir"],
      async rename(from, to) {
        step("rename")
        return nodeFiles.rename(from, to)
      },
      async unlink(path) {
        step("unlink")
        return nodeFiles.unlink(path)
      },
      async open(path, flags, mode) {
        step("open")
        const file = await nodeFiles.open(path, flags, mode)
        const writeFile = file.writeFile.bind(file)
        const sync = file.sync.bind(file)
        file.writeFile = async (data) => {
          step("write")
          // Half of it came to the disk.
          if (calls.length === stopAt) return writeFile((data as Uint8Array).subarray(0, 1))
          return writeFile(data)
        }
        file.sync = async () => {
          step("sync")
          return sync()
        }
        return file
      },
    }
    return { files, calls }
  }

  test("anywhere in a put, leaves the former blob or the new one", async () => {
    const before = await open()
    await before.put(key, bytes)
    const all = recorded(Number.POSITIVE_INFINITY)
    const opened = await open(all.files)
    const skipped = all.calls.length
    await opened.put(key, bytes)
    const steps = all.calls.slice(skipped)
    expect(steps).toEqual(["open", "write", "sync", "rename", "open", "sync"])
    const found: number[] = []
    for (let stop = 0; stop < steps.length; stop++) {
      await before.put(key, bytes)
      const killed = await open(recorded(skipped + stop).files)
      expect(await reasonOf(killed.put(key, Uint8Array.of(9, 9)))).toBe("UNAVAILABLE")
      const again = await open()
      found.push((await again.get(key))?.length ?? 0)
      // And whoever tries again gets it done.
      await again.put(key, Uint8Array.of(8, 8, 8, 8))
      expect(await again.get(key)).toEqual(Uint8Array.of(8, 8, 8, 8))
    }
    // Up to the rename the old, from then on the new.
    expect(found).toEqual([3, 3, 3, 3, 2, 2])
  })

  test("in a first put, leaves no blob, and its temporary file is deleted after an hour", async () => {
    const all = recorded(Number.POSITIVE_INFINITY)
    await open(all.files)
    const skipped = all.calls.length
    const killed = await open(recorded(skipped + 3).files)
    expect(await reasonOf(killed.put(key, bytes))).toBe("UNAVAILABLE")
    expect(await (await open()).get(key)).toBeUndefined()
    const [left] = filesIn()
    expect(left?.parentPath).toBe(join(root, "tmp"))
    await open()
    expect(filesIn().length).toBe(1)
    const path = join(root, "tmp", left?.name ?? "")
    utimesSync(path, new Date(0), new Date(0))
    await open()
    expect(filesIn()).toEqual([])
  })
})

describe("a failure", () => {
  test.each([
    ["ENOSPC", "STORAGE_FULL"],
    ["EDQUOT", "STORAGE_FULL"],
    ["EIO", "UNAVAILABLE"],
    ["EACCES", "UNAVAILABLE"],
  ])("of the disk, %s, is %s, and leaves nothing behind", async (code, reason) => {
    const working = await open()
    for (const broken of ["rename", "write"] as const) {
      const files: Files =
        broken === "rename"
          ? { ...nodeFiles, rename: failing(code) }
          : {
              ...nodeFiles,
              async open(path, flags, mode) {
                const file = await nodeFiles.open(path, flags, mode)
                file.writeFile = failing(code)
                return file
              },
            }
      expect(await reasonOf((await open(files)).put(key, bytes))).toBe(reason)
      expect([await working.get(key), filesIn()]).toEqual([undefined, []])
    }
  })
})

test("on a failing disk a read, a size query and a deletion are UNAVAILABLE, not empty", async () => {
  await (await open()).put(key, bytes)
  const unlinking = await open({ ...nodeFiles, unlink: failing("EIO") })
  expect(await reasonOf(unlinking.delete(key))).toBe("UNAVAILABLE")
  const looking = await open({ ...nodeFiles, lstat: failing("EIO") })
  expect(await reasonOf(looking.size(key))).toBe("UNAVAILABLE")
  expect(await reasonOf(looking.get(key))).toBe("UNAVAILABLE")
})

test("a file that is larger than a part is not read", async () => {
  const blobs = await open()
  await blobs.put(key, bytes)
  truncateSync(pathOf(key), maxBlobBytes + 1)
  expect([await reasonOf(blobs.get(key)), await reasonOf(blobs.size(key))]).toEqual(["UNAVAILABLE", "UNAVAILABLE"])
})

describe("no way out of the folder:", () => {
  const elsewhere = () => join(root, "..", `${root.split("/").at(-1)}-elsewhere`)
  afterEach(() => rmSync(elsewhere(), { recursive: true, force: true }))

  test.each(["../x", "att/../../x", "/etc/x", "att//x", "att/.", "a.b", "A", "", "a\u0000b", "a".repeat(129)])(
    "%j is refused as a key",
    async (bad) => {
      const blobs = await open()
      expect(await reasonsOf(blobs, bad)).toEqual(Array(4).fill("UNAVAILABLE"))
      expect(filesIn()).toEqual([])
    },
  )

  test("a link in a blob's place is not followed, and a put replaces it", async () => {
    const blobs = await open()
    mkdirSync(elsewhere())
    const secret = join(elsewhere(), "secret")
    writeFileSync(secret, "not yours")
    mkdirSync(dirname(pathOf(key)), { recursive: true })
    symlinkSync(secret, pathOf(key))
    expect(await reasonOf(blobs.get(key))).toBe("UNAVAILABLE")
    expect(await reasonOf(blobs.size(key))).toBe("UNAVAILABLE")
    await blobs.put(key, bytes)
    expect(await blobs.get(key)).toEqual(bytes)
    expect(statSync(secret).size).toBe(9)
  })

  test("a link in a folder's place is refused", async () => {
    const blobs = await open()
    mkdirSync(elsewhere())
    const folder = dirname(dirname(pathOf(key)))
    symlinkSync(elsewhere(), folder)
    expect(await reasonsOf(blobs, key)).toEqual(Array(4).fill("UNAVAILABLE"))
    expect(readdirSync(elsewhere())).toEqual([])
  })

  test("a pipe does not block a reader", async () => {
    const blobs = await open()
    mkdirSync(dirname(pathOf(key)), { recursive: true })
    execFileSync("mkfifo", [pathOf(key)])
    expect(await reasonOf(blobs.get(key))).toBe("UNAVAILABLE")
  })
})
