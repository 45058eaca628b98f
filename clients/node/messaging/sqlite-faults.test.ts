// SQLite fails, or the process ends, at every call of a scenario: transactions are atomic, and the store continues.
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync, type SQLInputValue, StatementSync } from "node:sqlite"
import type { MessagingStore, Op } from "@signet/client/messaging"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { fastTmpdir } from "../../../test/support/fast-tmpdir.ts"
import { openSqliteStore } from "./sqlite-store.ts"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(fastTmpdir(), "signet-sqlite-faults-"))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true, force: true })
})

test("the file has a write-ahead log, and each transaction is synced", async () => {
  const databases = new Set<DatabaseSync>()
  const { prepare } = DatabaseSync.prototype
  vi.spyOn(DatabaseSync.prototype, "prepare").mockImplementation(function (this: DatabaseSync, sql, ...rest) {
    databases.add(this)
    return prepare.call(this, sql, ...rest)
  })
  const store = openSqliteStore(join(folder, "store"))
  const [db] = databases
  const pragma = (name: string) => Object.values(db?.prepare(`PRAGMA ${name}`).get() ?? {})
  expect(pragma("journal_mode")).toEqual(["wal"])
  // 2 is FULL.
  expect(pragma("synchronous")).toEqual([2])
  expect(pragma("foreign_keys")).toEqual([1])
  expect(pragma("secure_delete")).toEqual([1])
  await store.close()
})

const a = "cnv_a"
const put = (key: string, value: number): Op => ({ op: "put", table: "state", key, value: Uint8Array.of(value) })
const transactions: Op[][] = [
  [put("x", 1), put("y", 1)],
  [put("x", 2), { op: "remove", table: "state", key: "y" }],
  [put("x", 3), { op: "create", table: "usedKeyPackage", key: "k", value: Uint8Array.of(1), space: "device" }],
  [],
  [put("x", 5), put("z", 5)],
]
/** The values after each number of transactions. */
const after = [[], [1, 1], [2], [3], [3], [5, 5]]

class Fault extends Error {}

/** Counts the calls to SQLite, and replaces one of them. */
function watch(at: number, instead: (call: () => unknown) => unknown): { readonly count: number } {
  let count = 0
  const step = (call: () => unknown) => (count++ === at ? instead(call) : call())
  for (const name of ["run", "get", "all"] as const) {
    const original: (...given: SQLInputValue[]) => unknown = StatementSync.prototype[name]
    vi.spyOn(StatementSync.prototype, name).mockImplementation(function (this: StatementSync, ...given) {
      return step(() => original.call(this, ...(given as SQLInputValue[]))) as never
    })
  }
  const { exec } = DatabaseSync.prototype
  vi.spyOn(DatabaseSync.prototype, "exec").mockImplementation(function (this: DatabaseSync, sql) {
    // At a process end or a full disk, SQLite itself rolls back.
    return sql === "ROLLBACK" ? exec.call(this, sql) : (step(() => exec.call(this, sql)) as never)
  })
  return {
    get count() {
      return count
    },
  }
}

/** @returns The number of acknowledged transactions. */
async function play(store: MessagingStore, from = 0): Promise<number> {
  let told = from
  for (const ops of transactions.slice(from)) {
    expect(await store.transact(a, BigInt(told), ops)).toBe("ok")
    told++
  }
  return told
}

async function expectWhole(store: MessagingStore, told: number, place: string): Promise<void> {
  const { generation } = await store.read(a, [])
  expect([told, told + 1], place).toContain(Number(generation))
  const values = (await store.list(a, "state")).map(({ value }) => value[0])
  expect(values, place).toEqual(after[Number(generation)])
  const marks = await store.list("device", "usedKeyPackage")
  expect(marks.length, place).toBe(generation >= 3n ? 1 : 0)
  expect(await play(store, Number(generation)), place).toBe(transactions.length)
}

const places = async () => {
  const watched = watch(-1, () => undefined)
  const store = openSqliteStore(join(folder, "counted"))
  const opening = watched.count
  await play(store)
  const { count } = watched
  vi.restoreAllMocks()
  await store.close()
  return { opening, count }
}

test.each(["before", "after"] as const)("a call that fails %s its effect rolls back its transaction", async (when) => {
  const { opening, count } = await places()
  expect(count).toBeGreaterThan(25)
  for (let at = opening; at < count; at++) {
    const path = join(folder, `store ${at}`)
    watch(at, (call) => {
      if (when === "after") call()
      throw new Fault()
    })
    const store = openSqliteStore(path)
    let told = 0
    try {
      for (const ops of transactions) {
        expect(await store.transact(a, BigInt(told), ops)).toBe("ok")
        told++
      }
      expect.fail("nothing has failed")
    } catch (error) {
      expect(error, `call ${at}`).toBeInstanceOf(Fault)
    }
    vi.restoreAllMocks()
    // The same store continues, and so does a newly opened one.
    await expectWhole(store, told, `call ${at}, ${told} told`)
    await store.close()
    const again = openSqliteStore(path)
    expect(await again.list(a, "state")).toHaveLength(2)
    await again.close()
  }
})

test("a process that ends at any call, also while opening, leaves atomic transactions", async () => {
  const { count } = await places()
  for (let at = 0; at < count; at++) {
    const path = join(folder, `live ${at}`, "store")
    const left = join(folder, `left ${at}`)
    mkdirSync(join(folder, `live ${at}`))
    let told = 0
    let toldThen = 0
    watch(at, (call) => {
      // The files on the disk now are what a process leaves that ends here, without the log in memory.
      toldThen = told
      cpSync(join(folder, `live ${at}`), left, { recursive: true, filter: (name) => !name.endsWith("-shm") })
      return call()
    })
    const store = openSqliteStore(path)
    for (const ops of transactions) {
      await store.transact(a, BigInt(told), ops)
      told++
    }
    vi.restoreAllMocks()
    await store.close()
    const found = openSqliteStore(join(left, "store"))
    await expectWhole(found, toldThen, `call ${at}, ${toldThen} told`)
    await found.close()
  }
})
