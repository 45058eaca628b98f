import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { createReceiptKeyStore } from "./receipt-keys.ts"

const key = (fill: number, name = "edge") => ({
  publicKey: new Uint8Array(32).fill(fill),
  name,
  createdAtMs: 1_800_000_000_000 + fill,
})

describeOnEachStore("receipt keys of backends elsewhere", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())

  test("are stored unchanged, are not replaced by a repeated add, and can be removed", async () => {
    const store = createReceiptKeyStore(opened.db)
    await store.add(key(2))
    await store.add(key(1))
    await store.add(key(2, "another name"))
    expect(await store.list()).toEqual([key(1), key(2)])
    expect(await store.remove(key(1).publicKey)).toBe(true)
    expect(await store.remove(key(1).publicKey)).toBe(false)
    expect(await store.list()).toEqual([key(2)])
  })
})
