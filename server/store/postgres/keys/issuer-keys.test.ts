import type { IssuerKeyRecord } from "@signet/kernel/keys/issuer-keys"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { createIssuerKeyStore } from "./issuer-keys.ts"

const key = (fill: number, change: Partial<IssuerKeyRecord> = {}): IssuerKeyRecord => ({
  purpose: "PROOF",
  generation: 1,
  publicKey: new Uint8Array(32).fill(fill),
  privateSealed: Uint8Array.of(1, 0, 255),
  createdAtMs: 1_800_000_000_000,
  ...change,
})

describeOnEachStore("issuer keys", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())

  test("are stored unchanged, and the first key of a purpose and generation wins", async () => {
    const store = createIssuerKeyStore(opened.db)
    expect(await store.list()).toEqual([])
    await store.add([])
    const kept = [key(1), key(2, { generation: 2 }), key(3, { purpose: "RECEIPT" })]
    await store.add(kept)
    await store.add([key(4), key(5, { purpose: "LIST" })])
    expect((await store.list()).map(({ publicKey }) => publicKey[0])).toEqual([5, 1, 2, 3])
    expect(await store.list()).toEqual([key(5, { purpose: "LIST" }), ...kept])
  })

  test("created by two concurrent processes are the same for both", async () => {
    const store = createIssuerKeyStore(opened.db)
    await Promise.all([6, 7, 8, 9].map((fill) => store.add([key(fill, { purpose: "CREDENTIAL" })])))
    expect((await store.list()).filter(({ purpose }) => purpose === "CREDENTIAL")).toHaveLength(1)
  })
})
