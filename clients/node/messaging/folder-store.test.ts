import { spawn } from "node:child_process"
import { once } from "node:events"
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as later } from "node:timers/promises"
import type { Lock } from "@signet/client"
import type { MessagingStore, Op } from "@signet/client/messaging"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { effort, isLong } from "../../../test/support/effort.ts"
import { numbers, seed } from "../../../test/support/random.ts"
import { storeSuite } from "../../core/messaging/testing/store-suite.ts"
import { type FolderFiles, folderFiles } from "./folder-files.ts"
import { openFolderStore, openFolderStoreOn } from "./folder-store.ts"
import { type FileFault, faultyFiles } from "./testing/faulty-files.ts"
import { memoryFiles } from "./testing/memory-files.ts"

const newFolder = () => mkdtempSync(join(tmpdir(), "signet-folder-"))

storeSuite("the store in a folder", async () => {
  const folder = newFolder()
  return {
    open: () => openFolderStore(join(folder, "store")),
    isKept: true,
    remove: async () => rmSync(folder, { recursive: true }),
  }
})

const noLock: Lock = { run: (work) => work() }

storeSuite("the store in a folder that is merged all the time, without a lock", async () => {
  const folder = newFolder()
  return {
    open: () => openFolderStoreOn(folderFiles(folder), noLock, { mergeAt: 1 }),
    isKept: true,
    remove: async () => rmSync(folder, { recursive: true }),
  }
})

let folder: string
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => rmSync(folder, { recursive: true }))

const a = "cnv_a"
const put = (key: string, value: number): Op => ({ op: "put", table: "state", key, value: Uint8Array.of(value) })
const namesIn = () => readdirSync(folder).filter((name) => name.endsWith(".rows"))
const open = (mergeAt = 64) => openFolderStoreOn(folderFiles(folder), noLock, { mergeAt })
const byteOf = async (store: MessagingStore, key = "x") =>
  (await store.read(a, [{ table: "state", key }])).values[0]?.[0]

async function write(store: MessagingStore, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const { generation } = await store.read(a, [])
    expect(await store.transact(a, generation, [put("x", i), put(String(i), i)])).toBe("ok")
  }
}

test.runIf(isLong)("each transaction is a file, and files are merged to a bounded number", async () => {
  const store = await open(8)
  await write(store, 7)
  expect(namesIn()).toHaveLength(7)
  await write(store, 1)
  expect(namesIn()).toEqual(["000000000001-000000000008.rows"])
  const other = await open()
  await write(store, 200)
  expect(namesIn().length).toBeLessThan(16)
  // One that has read all files, and one that reads the merged ones.
  for (const reader of [other, await open()]) {
    expect((await reader.read(a, [])).generation).toBe(208n)
    expect((await reader.list(a, "state")).length).toBe(201)
  }
})

test("a deleted row does not reappear after a merge, or in a process that had it", async () => {
  const store = await open(4)
  const big: Op = { op: "put", table: "tree", key: "big", value: new Uint8Array(100_000) }
  await store.transact(a, 0n, [put("gone", 1), put("later", 1), big])
  for (let i = 1n; i < 4n; i++) await store.transact(a, i, [put("x", 1)])
  const other = await open()
  await store.transact(a, 4n, [{ op: "remove", table: "state", key: "gone" }])
  for (let i = 5n; i < 8n; i++) await store.transact(a, i, [put("x", 2)])
  // The large file is not rewritten for the small ones.
  expect(namesIn().sort()).toEqual(["000000000001-000000000004.rows", "000000000005-000000000008.rows"])
  await store.transact(a, 8n, [
    { op: "remove", table: "state", key: "later" },
    { ...big, value: new Uint8Array(200_000) },
  ])
  for (let i = 9n; i < 12n; i++) await store.transact(a, i, [put("y", 3)])
  expect(namesIn()).toEqual(["000000000001-000000000012.rows"])
  for (const reader of [store, other, await open()]) {
    expect((await reader.list(a, "state")).map(({ key }) => key)).toEqual(["x", "y"])
  }
})

test("a deleted row disappears also if it was read before the merge", async () => {
  const store = await open(2)
  const other = await open()
  await store.transact(a, 0n, [put("x", 1), put("y", 1)])
  expect(await byteOf(other)).toBe(1)
  await store.transact(a, 1n, [{ op: "remove", table: "state", key: "x" }])
  expect(namesIn()).toEqual(["000000000001-000000000002.rows"])
  expect([await byteOf(other), await byteOf(other, "y")]).toEqual([undefined, 1])
})

test("a write that another process's merge deleted as a leftover is repeated", async () => {
  const files = folderFiles(folder)
  let swept = 0
  const sweeping: FolderFiles = {
    ...files,
    async name(file, name) {
      if (++swept <= 3) await files.remove(file)
      return files.name(file, name)
    },
  }
  const store = await openFolderStoreOn(sweeping, noLock, { mergeAt: 64 })
  expect(await store.transact(a, 0n, [put("x", 1)])).toBe("ok")
  expect([swept, namesIn()]).toEqual([4, ["000000000001-000000000001.rows"]])
  expect(await byteOf(await open())).toBe(1)
})

test("a missing folder is an error after a bounded number of attempts", async () => {
  let tries = 0
  const name = () => {
    tries++
    return Promise.reject(Object.assign(new Error("no such folder"), { code: "ENOENT" }))
  }
  const store = await openFolderStoreOn({ ...folderFiles(folder), name }, noLock, { mergeAt: 64 })
  await expect(store.transact(a, 0n, [put("x", 1)])).rejects.toThrow("no such folder")
  expect([tries, namesIn()]).toEqual([8, []])
})

test("only the owner can access folder and files", async () => {
  const store = await openFolderStore(join(folder, "store"))
  await store.transact(a, 0n, [put("x", 1)])
  expect(statSync(join(folder, "store")).mode & 0o077).toBe(0)
  for (const name of readdirSync(join(folder, "store"))) {
    expect(statSync(join(folder, "store", name)).mode & 0o077, name).toBe(0)
  }
})

describe("a damaged folder is refused, and unchanged:", () => {
  const second = () => join(folder, namesIn()[1] ?? "")
  test.each<[string, () => void, string]>([
    ["a changed byte", () => change(second(), -1, (byte) => byte ^ 1), "STATE_TAMPERED"],
    ["a changed checksum", () => change(second(), 9, (byte) => byte ^ 1), "STATE_TAMPERED"],
    ["a truncated file", () => truncateSync(second(), 60), "STATE_TAMPERED"],
    ["an empty file", () => truncateSync(second(), 0), "STATE_TAMPERED"],
    [
      "a file under another file's name",
      () => copyFileSync(join(folder, namesIn()[0] ?? ""), second()),
      "STATE_TAMPERED",
    ],
    ["a missing file", () => rmSync(second()), "STATE_TAMPERED"],
    [
      "the newest file alone",
      () =>
        namesIn()
          .slice(0, 2)
          .map((name) => rmSync(join(folder, name))),
      "STATE_TAMPERED",
    ],
    ["a file of a later version", () => change(second(), 4, () => 2), "STATE_NEWER_VERSION"],
  ])("%s", async (_, damage, reason) => {
    await write(await open(), 3)
    damage()
    const before = contents()
    await expect(open()).rejects.toMatchObject({ name: "MessagingError", reason })
    expect(contents()).toEqual(before)
  })

  test("unrelated files are not changed", async () => {
    await write(await open(), 3)
    writeFileSync(join(folder, "notes.txt"), "mine")
    await write(await open(1), 3)
    expect(readFileSync(join(folder, "notes.txt"), "utf8")).toBe("mine")
  })
})

function change(path: string, at: number, to: (byte: number) => number): void {
  const bytes = readFileSync(path)
  const place = at < 0 ? bytes.length + at : at
  bytes[place] = to(bytes[place] ?? 0)
  writeFileSync(path, bytes)
}
const contents = () => readdirSync(folder).map((name) => [name, readFileSync(join(folder, name)).toString("base64")])

test.each(["ENOSPC", "EDQUOT"])("a full disk (%s) is STORE_FULL", async (code) => {
  const files = folderFiles(folder)
  const full = Object.assign(new Error("no room"), { code })
  const store = await openFolderStoreOn({ ...files, write: () => Promise.reject(full) }, noLock, { mergeAt: 8 })
  await expect(store.transact(a, 0n, [put("x", 1)])).rejects.toMatchObject({ reason: "STORE_FULL" })
  expect(await byteOf(store)).toBeUndefined()
})

describe("a merge of another process", () => {
  const merge = () => open(2).then((store) => write(store, 1))

  test("between the list and its use is not a missing file", async () => {
    await write(await open(), 1)
    const files = folderFiles(folder)
    const stale = ["000000000002-000000000002.rows"]
    let lists = 0
    const late = { ...files, list: async () => (++lists === 1 ? stale : files.list()) }
    const store = await openFolderStoreOn(late, noLock, { mergeAt: 64 })
    expect(await byteOf(store)).toBe(0)
  })

  test("before a file is read makes the reader list the files again", async () => {
    await write(await open(), 1)
    const files = folderFiles(folder)
    let reads = 0
    const late: FolderFiles = {
      ...files,
      async read(name) {
        if (++reads === 1) await merge()
        return files.read(name)
      },
    }
    const store = await openFolderStoreOn(late, noLock, { mergeAt: 64 })
    expect((await store.read(a, [])).generation).toBe(2n)
    expect(namesIn()).toEqual(["000000000001-000000000002.rows"])
  })
})

test("a holder that was overtaken overwrites nothing when it resumes", async () => {
  const files = folderFiles(folder)
  // Its merge happens between the write of the file and its name, and keeps the file.
  const leaving: FolderFiles = {
    ...files,
    remove: async (name) => (name.endsWith(".new") ? undefined : files.remove(name)),
  }
  const other = await openFolderStoreOn(leaving, noLock, { mergeAt: 1 })
  await write(other, 3)
  let meanwhile: (() => Promise<unknown>) | undefined
  const late = await openFolderStoreOn(
    {
      ...files,
      async name(file, name) {
        // Stopped here, after the file was written and its number chosen.
        const work = meanwhile
        meanwhile = undefined
        await work?.()
        return files.name(file, name)
      },
    },
    noLock,
    { mergeAt: 64 },
  )
  // Its number is in use.
  meanwhile = () => other.transact("cnv_b", 0n, [])
  expect(await late.transact(a, 3n, [put("x", 90)])).toBe("ok")
  // Its number was used and merged: the result of the write is unknown, and it was not written.
  meanwhile = async () => {
    for (let i = 4n; i < 6n; i++) await other.transact(a, i, [put("x", Number(i))])
  }
  await expect(late.transact(a, 4n, [put("x", 91)])).rejects.toThrow("read the store")
  for (const reader of [late, other, await open()]) {
    expect([(await reader.read(a, [])).generation, await byteOf(reader)]).toEqual([6n, 5])
  }
})

const random = numbers(seed)

/** The names that were not synced when a process ended, alone or with its machine. */
const cuts: Record<string, () => boolean> = {
  "all of them stay": () => true,
  "none of them stays": () => false,
  "some of them stay": () => random(2) === 0,
}

describe("at a failure or process end at each file operation,", () => {
  const transactions: Op[][] = [
    [put("x", 1), put("y", 1)],
    [put("x", 2), { op: "remove", table: "state", key: "y" }],
    [put("x", 3), put("y", 3)],
    [],
    [put("x", 5), { op: "create", table: "usedKeyPackage", key: "k", value: Uint8Array.of(1), space: "device" }],
    [put("x", 6), put("z", 6)],
  ]
  /** The values after each number of transactions. */
  const after = [[], [1, 1], [2], [3, 3], [3, 3], [5, 3], [6, 3, 6]]
  const openOn = (files: FolderFiles) => openFolderStoreOn(files, noLock, { mergeAt: 2 })

  /** @returns The number of acknowledged transactions, and of operations. */
  async function run(files: FolderFiles, fault?: FileFault) {
    const faulty = faultyFiles(files, fault)
    let told = 0
    const outcomes: string[] = []
    try {
      let store = await openOn(faulty)
      for (const ops of transactions) {
        outcomes.push(await store.transact(a, BigInt(told), ops))
        told++
        if (told === 3) store = await openOn(faulty)
      }
    } catch (error) {
      // Other tests check how the store reports the fault; without a fault nothing fails.
      if (fault === undefined) throw error
    }
    expect(outcomes).toEqual(outcomes.map(() => "ok"))
    return { told, count: faulty.count }
  }

  const whens = ["before", "after", "torn"] as const
  const kinds = whens.flatMap((when) => [
    { when, ends: false, names: "all of them stay" },
    ...Object.keys(cuts).map((names) => ({ when, ends: true, names })),
  ])

  test.each(kinds)("a transaction is atomic: $when it, ends: $ends, $names", async ({ when, ends, names }) => {
    const { count } = await run(memoryFiles())
    expect(count).toBeGreaterThan(60)
    for (let at = 0; at < count; at++) {
      const files = memoryFiles()
      const { told } = await run(files, { at, when, ends })
      files.cut(cuts[names] ?? Boolean)
      const store = await openOn(files)
      const { generation } = await store.read(a, [])
      const place = `operation ${at}, ${told} told`
      expect([told, told + 1], place).toContain(Number(generation))
      const values = (await store.list(a, "state")).map(({ value }) => value[0])
      expect(values, place).toEqual(after[Number(generation)])
      // And the store continues.
      for (let next = Number(generation); next < transactions.length; next++) {
        expect(await store.transact(a, BigInt(next), transactions[next] ?? []), place).toBe("ok")
      }
      expect(
        (await (await openOn(files)).list(a, "state")).map(({ value }) => value[0]),
        place,
      ).toEqual(after.at(-1))
    }
  })
})

test.runIf(isLong)("a killed process loses no acknowledged transaction, and blocks no other", async () => {
  const program = join(import.meta.dirname, "testing/folder-writer.ts")
  let known = 0
  for (let round = 0; round < effort(1, 8, 200); round++) {
    const writers = [0, 1].map(() =>
      spawn(process.execPath, [program, folder], { stdio: ["ignore", "pipe", "inherit"] }),
    )
    let told = ""
    for (const { stdout } of writers) stdout.on("data", (text: Buffer) => (told += text.toString()))
    const [one, other] = writers
    if (one === undefined || other === undefined) throw new Error("no writers")
    while (told.split("\n").length < 8) await later(5)
    await later(random(30))
    one.kill("SIGKILL")
    await once(one, "exit")
    // The other process continues, whatever the first one held.
    const before = told.split("\n").length
    while (told.split("\n").length < before + 3) await later(5)
    other.kill("SIGKILL")
    await once(other, "exit")
    known = Math.max(known, ...told.trim().split("\n").map(Number))
    const store = await openFolderStore(folder)
    const wanted = [
      { table: "state", key: "one" },
      { table: "tree", key: "other" },
    ] as const
    const { generation, values } = await store.read(a, wanted)
    expect(Number(generation)).toBeGreaterThanOrEqual(known)
    expect(values.map((value) => Buffer.from(value ?? []).toString())).toEqual([`${generation}`, `${generation}`])
    expect(await store.list(a, "timeline")).toHaveLength(Number(generation))
    const { generation: more } = await store.read("cnv_b", [])
    expect(await store.transact("cnv_b", more, [])).toBe("ok")
    await store.close()
    known = Number(generation)
  }
})
