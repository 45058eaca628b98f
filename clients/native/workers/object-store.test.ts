// The stores of a Durable Object over SQLite of Node in the place of the platform's: the bot's story has the platform.
import { DatabaseSync } from "node:sqlite"
import { expect, test } from "vitest"
import { storeSuite } from "../../core/messaging/testing/store-suite.ts"
import { createObjectBytes } from "./object-bytes.ts"
import { createObjectLock } from "./object-lock.ts"
import type { ObjectStorage } from "./object-storage.ts"
import { openObjectStore } from "./object-store.ts"
import { createWorkerSecretBox } from "./secret-box.ts"

function storageOf(db: DatabaseSync): ObjectStorage {
  const exec: ObjectStorage["sql"]["exec"] = (query, ...bindings) => {
    if (query.trim().split(";").length > 2) db.exec(query)
    const found = query.trim().split(";").length > 2 ? [] : db.prepare(query).all(...bindings.map(bound))
    return { toArray: () => found.map((row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, shown(v)]))) }
  }
  return {
    sql: { exec },
    transactionSync(closure) {
      db.exec("BEGIN")
      try {
        const made = closure()
        db.exec("COMMIT")
        return made
      } catch (error) {
        db.exec("ROLLBACK")
        throw error
      }
    },
    sync: async () => undefined,
  }
}

/** The platform returns a BLOB as an ArrayBuffer. */
const shown = (value: unknown) => (value instanceof Uint8Array ? value.slice().buffer : (value as string | number))
const bound = (value: ArrayBuffer | Uint8Array | string | number | null) =>
  value instanceof ArrayBuffer ? new Uint8Array(value) : value

storeSuite("the store in a Durable Object", async () => {
  const db = new DatabaseSync(":memory:")
  return { open: async () => openObjectStore(storageOf(db)), isKept: true, remove: async () => db.close() }
})

test("tables of a later version are refused, and unchanged", () => {
  const db = new DatabaseSync(":memory:")
  openObjectStore(storageOf(db))
  db.exec("UPDATE signet_version SET version = 2")
  expect(() => openObjectStore(storageOf(db))).toThrow(expect.objectContaining({ reason: "STATE_NEWER_VERSION" }))
  expect(db.prepare("SELECT version FROM signet_version").get()?.version).toBe(2)
})

test("named bytes are replaced only at the expected revision", async () => {
  const bytes = createObjectBytes(storageOf(new DatabaseSync(":memory:")))
  const first = await bytes.write("a", Uint8Array.of(1), undefined)
  expect(await bytes.write("a", Uint8Array.of(2), undefined)).toBeUndefined()
  expect(await bytes.write("a", Uint8Array.of(2), "other")).toBeUndefined()
  const second = await bytes.write("a", Uint8Array.of(2), first)
  expect(await bytes.read("a")).toEqual({ revision: second, bytes: Uint8Array.of(2) })
  expect(await bytes.remove("a", first ?? "")).toBe(false)
  expect(await bytes.remove("a", second ?? "")).toBe(true)
  expect(await bytes.read("a")).toBeUndefined()
})

test("keys open under the Worker's secret only, and a destroyed key never opens again", async () => {
  const storage = createObjectBytes(storageOf(new DatabaseSync(":memory:")))
  const boxUnder = (fill: number) =>
    createWorkerSecretBox({ key: new Uint8Array(32).fill(fill), storage, lock: createObjectLock() })
  const scope = { app: "app", user: "prn" }
  await boxUnder(7).createKey(scope)
  const sealed = await boxUnder(7).seal(scope, "row", Uint8Array.of(1, 2, 3))
  expect(await boxUnder(7).open(scope, "row", sealed)).toEqual(Uint8Array.of(1, 2, 3))
  await expect(boxUnder(8).open(scope, "row", sealed)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
  await boxUnder(7).destroy(scope)
  await boxUnder(7).createKey(scope)
  await expect(boxUnder(7).open(scope, "row", sealed)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
  const short = () => createWorkerSecretBox({ key: new Uint8Array(31), storage, lock: createObjectLock() })
  expect(short).toThrow("secretKey must have 32 bytes, and has 31")
})
