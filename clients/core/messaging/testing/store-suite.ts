// The tests that every store must pass.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { utf8 } from "../crypto/bytes.ts"
import { deviceSpace, type MessagingStore, type Op, type Table } from "../store/store.ts"

interface StoreUnderTest {
  /** Opens the store. The first time, it is empty. */
  open(): Promise<MessagingStore>
  /** True if another `open` reads the writes of the first one. */
  readonly isKept: boolean
  remove(): Promise<void>
}

const put = (table: Table, key: string, value: string, space?: string): Op => ({
  op: "put",
  table,
  key,
  value: utf8(value),
  ...(space === undefined ? {} : { space }),
})
const text = (bytes: Uint8Array | undefined) => bytes && new TextDecoder().decode(bytes)
const a = "cnv_a"
const b = "cnv_b"

export function storeSuite(name: string, make: () => Promise<StoreUnderTest>): void {
  describe(name, () => {
    let under: StoreUnderTest
    let store: MessagingStore
    beforeEach(async () => {
      under = await make()
      store = await under.open()
    })
    afterEach(async () => {
      await store.close()
      await under.remove()
    })
    const value = async (space: string, table: Table, key: string) =>
      text((await store.read(space, [{ table, key }])).values[0])

    test("a space that was never written has generation 0 and no rows", async () => {
      expect(await store.read(a, [{ table: "state", key: "x" }])).toEqual({ generation: 0n, values: [undefined] })
      expect(await store.list(a, "state")).toEqual([])
      expect(await store.spaces()).toEqual([])
    })

    test("a transaction writes all of its rows, and increases the generation by one", async () => {
      expect(await store.transact(a, 0n, [put("state", "x", "1"), put("tree", "x", "2")])).toBe("ok")
      const wanted = [
        { table: "state", key: "x" },
        { table: "tree", key: "x" },
        { table: "tree", key: "y" },
      ] as const
      const { generation, values } = await store.read(a, wanted)
      expect([generation, ...values.map(text)]).toEqual([1n, "1", "2", undefined])
      expect(await store.spaces()).toEqual([a])
    })

    test.each([
      ["an earlier generation", 0n],
      ["a later generation", 2n],
    ])("a transaction on %s writes nothing", async (_, generation) => {
      await store.transact(a, 0n, [put("state", "x", "1")])
      expect(await store.transact(a, generation, [put("state", "x", "2")])).toBe("GENERATION_MISMATCH")
      expect(await value(a, "state", "x")).toBe("1")
      expect((await store.read(a, [])).generation).toBe(1n)
    })

    test("spaces have separate rows and generations", async () => {
      await store.transact(a, 0n, [put("state", "x", "of a")])
      await store.transact(b, 0n, [put("state", "x", "of b")])
      expect(await value(a, "state", "x")).toBe("of a")
      expect(await store.transact(a, 1n, [])).toBe("ok")
      expect((await store.read(b, [])).generation).toBe(1n)
    })

    test("a transaction writes a row of another space without changing that space's generation", async () => {
      await store.transact(deviceSpace, 0n, [put("keyPackage", "k", "1")])
      const remove: Op = { op: "remove", table: "keyPackage", key: "k", space: deviceSpace }
      expect(await store.transact(a, 0n, [put("state", "x", "1"), remove])).toBe("ok")
      expect(await store.read(deviceSpace, [{ table: "keyPackage", key: "k" }])).toEqual({
        generation: 1n,
        values: [undefined],
      })
    })

    test("creating an existing row refuses the whole transaction", async () => {
      const create: Op = {
        op: "create",
        table: "usedKeyPackage",
        key: "k",
        value: new Uint8Array(1),
        space: deviceSpace,
      }
      expect(await store.transact(a, 0n, [create])).toBe("ok")
      expect(await store.transact(b, 0n, [put("state", "x", "1"), create])).toBe("EXISTS")
      expect(await store.read(b, [{ table: "state", key: "x" }])).toEqual({ generation: 0n, values: [undefined] })
      const before = ["overwritten", "removed"].map((key) => put("state", key, "old"))
      expect(await store.transact(b, 0n, before)).toBe("ok")
      const remove: Op = { op: "remove", table: "state", key: "removed" }
      expect(await store.transact(b, 1n, [put("state", "overwritten", "new"), remove, create])).toBe("EXISTS")
      const kept = await Promise.all(["overwritten", "removed"].map((key) => value(b, "state", key)))
      expect(kept).toEqual(["old", "old"])
    })

    test("a later write of a transaction wins over an earlier one of the same name", async () => {
      await store.transact(a, 0n, [put("state", "x", "1"), { op: "remove", table: "state", key: "x" }])
      expect(await value(a, "state", "x")).toBeUndefined()
    })

    test("rows are listed by ascending key, after a key and up to a limit", async () => {
      await store.transact(
        a,
        0n,
        ["03", "01", "04", "02"].map((key) => put("timeline", key, key)),
      )
      await store.transact(a, 1n, [put("outbox", "00", "another table")])
      const keys = async (range?: { after?: string; limit?: number }) =>
        (await store.list(a, "timeline", range)).map(({ key }) => key)
      expect(await keys()).toEqual(["01", "02", "03", "04"])
      expect(await keys({ after: "01", limit: 2 })).toEqual(["02", "03"])
    })

    test("a key is listed directly after its own prefix", async () => {
      const named = ["02", "01:keys", "01", "01:joined"].map((key) => put("timeline", key, key))
      await store.transact(a, 0n, named)
      const keys = async (after: string) => (await store.list(a, "timeline", { after })).map(({ key }) => key)
      expect(await keys("01")).toEqual(["01:joined", "01:keys", "02"])
      expect(await keys("01:keys")).toEqual(["02"])
    })

    test("stored bytes are read unchanged, and are independent of the caller's arrays", async () => {
      const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => i % 256)
      await store.transact(a, 0n, [{ op: "put", table: "tree", key: "x", value: bytes }])
      bytes.fill(0)
      const read = (await store.read(a, [{ table: "tree", key: "x" }])).values[0]
      expect(read?.[257]).toBe(1)
      read?.fill(9)
      expect((await store.read(a, [{ table: "tree", key: "x" }])).values[0]?.[257]).toBe(1)
    })

    test("of two transactions on one generation, one is written", async () => {
      const other = under.isKept ? await under.open() : store
      const results = await Promise.all([
        store.transact(a, 0n, [put("state", "x", "1")]),
        other.transact(a, 0n, [put("state", "x", "2")]),
      ])
      expect(results.sort()).toEqual(["GENERATION_MISMATCH", "ok"])
      if (other !== store) await other.close()
    })

    test("written rows are read after the store is opened again", async () => {
      if (!under.isKept) return expect(store.durability).toBe("memory")
      await store.transact(a, 0n, [put("state", "x", "1")])
      await store.close()
      store = await under.open()
      expect(await value(a, "state", "x")).toBe("1")
      expect(await store.transact(a, 1n, [])).toBe("ok")
    })
  })
}
