import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { MessagingError, type MessagingStore } from "@signet/client/messaging"
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import { storeSuite } from "../../core/messaging/testing/store-suite.ts"
import { openSqliteStore } from "./sqlite-store.ts"

const newFolder = () => mkdtempSync(join(tmpdir(), "signet-sqlite-"))

storeSuite("the store in a SQLite file", async () => {
  const folder = newFolder()
  return {
    open: async () => openSqliteStore(join(folder, "store")),
    isKept: true,
    remove: async () => rmSync(folder, { recursive: true }),
  }
})

let folder: string
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => rmSync(folder, { recursive: true }))
const path = () => join(folder, "store")
/** @throws what has no reason. */
const reasonOf = (error: unknown): string => {
  if (error instanceof MessagingError) return error.reason
  throw error
}
const row = (value: number) => ({ op: "put", table: "state", key: "x", value: Uint8Array.of(value) }) as const

test("a file of a later version is refused, and unchanged", async () => {
  await openSqliteStore(path()).close()
  const db = new DatabaseSync(path())
  db.exec("PRAGMA user_version = 2")
  db.close()
  expect(() => openSqliteStore(path())).toThrow(expect.objectContaining({ reason: "STATE_NEWER_VERSION" }))
})

test("a flipped byte in the header of the file is a typed error, or changes nothing", async () => {
  const store = openSqliteStore(path())
  await store.transact("a", 0n, [row(1)])
  await store.close()
  const written = readFileSync(path())
  const reasons = new Set<unknown>()
  for (let at = 0; at < 100; at++) {
    const file = join(folder, `flipped ${at}`)
    writeFileSync(
      file,
      written.map((byte, i) => (i === at ? byte ^ (1 << (at % 8)) : byte)),
    )
    try {
      const opened = openSqliteStore(file)
      expect((await opened.read("a", [{ table: "state", key: "x" }])).values, `byte ${at}`).toEqual([Uint8Array.of(1)])
      await opened.close()
    } catch (error) {
      if (!(error instanceof MessagingError)) throw error
      reasons.add(error.reason)
    }
  }
  expect(reasons).toEqual(new Set(["STATE_TAMPERED", "STATE_NEWER_VERSION"]))
})

test("a damaged page of the file is a typed error in every call that reads it", async () => {
  const keys = Array.from({ length: 200 }, (_, i) => `key ${String(i).padStart(3, "0")}`)
  const store = openSqliteStore(path())
  const rows = keys.map((key) => ({ op: "put", table: "state", key, value: Buffer.alloc(400, key) }) as const)
  await store.transact("a", 0n, rows)
  await store.close()
  const written = readFileSync(path())
  const pageSize = 4_096
  const pages = written.length / pageSize
  expect(pages).toBeGreaterThan(20)
  const outcomes: string[] = []
  const wanted = keys.map((key) => ({ table: "state", key }) as const)
  for (let page = 1; page < pages; page++) {
    for (const [name, damage] of Object.entries({ zeroed: 0, filled: 0xff })) {
      const file = join(folder, `${name} ${page}`)
      const bytes = Buffer.from(written)
      bytes.fill(damage, page * pageSize, (page + 1) * pageSize)
      writeFileSync(file, bytes)
      const calls: ((opened: MessagingStore) => Promise<unknown>)[] = [
        (opened) => opened.spaces(),
        (opened) => opened.list("a", "state"),
        (opened) => opened.read("a", wanted),
        (opened) => opened.transact("a", 1n, rows),
      ]
      let opened: MessagingStore | undefined
      try {
        opened = openSqliteStore(file)
        for (const call of calls)
          outcomes.push(
            await call(opened).then(
              () => "ok",
              (error) => reasonOf(error),
            ),
          )
      } catch (error) {
        outcomes.push(reasonOf(error))
      }
      await opened?.close()
    }
  }
  expect(new Set(outcomes)).toEqual(new Set(["ok", "STATE_TAMPERED"]))
})

test("only the owner can access the file", async () => {
  const store = openSqliteStore(path())
  await store.transact("a", 0n, [row(1)])
  for (const file of [path(), `${path()}-wal`]) expect(statSync(file).mode & 0o077).toBe(0)
  await store.close()
})

test.runIf(isLong)("a write survives a kill of the process directly afterwards", async () => {
  const program = `
    const { openSqliteStore } = await import(${JSON.stringify(join(import.meta.dirname, "sqlite-store.ts"))})
    const store = openSqliteStore(${JSON.stringify(path())})
    const put = { op: "put", table: "state", key: "x", value: Uint8Array.of(7) }
    await store.transact("a", 0n, [put])
    process.kill(process.pid, "SIGKILL")
  `
  expect(() => execFileSync(process.execPath, ["--input-type=module", "-e", program], { stdio: "ignore" })).toThrow()
  const store = openSqliteStore(path())
  expect((await store.read("a", [{ table: "state", key: "x" }])).values).toEqual([Uint8Array.of(7)])
  await store.close()
})

test("two stores on one file see each other's writes and one generation", async () => {
  const one = openSqliteStore(path())
  const other = openSqliteStore(path())
  await one.transact("a", 0n, [row(1)])
  expect((await other.read("a", [])).generation).toBe(1n)
  expect(await other.transact("a", 1n, [row(2)])).toBe("ok")
  expect(await one.transact("a", 1n, [row(3)])).toBe("GENERATION_MISMATCH")
  await one.close()
  await other.close()
})

test("a Node without SQLite is STORE_UNAVAILABLE", () => {
  const finding = vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined as never)
  onTestFinished(() => finding.mockRestore())
  expect(() => openSqliteStore(path())).toThrow(expect.objectContaining({ reason: "STORE_UNAVAILABLE" }))
})

test("a store may be closed twice", async () => {
  const store = openSqliteStore(path())
  await store.close()
  await store.close()
})
