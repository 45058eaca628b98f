import type { Store } from "@signet/kernel/ports"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { newPat } from "../testing/machines.ts"
import { app, freshId, putApp, putPerson } from "../testing/people.ts"

describeOnEachStore("personal access tokens", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  test("are stored unchanged, and found by id and by any of their hashes", async () => {
    const pat = newPat(await putPerson(store), {
      tenantId: freshId("ten"),
      contextId: freshId("ctx"),
      name: 'odd "one", {two}\\',
      lastUsedAtMs: 3,
      revokedAtMs: 4,
      revokeReason: "LEAKED",
    })
    await store.transaction(async (tx) => {
      await tx.pats.insert(pat)
      expect(await tx.pats.lock(pat.id)).toStrictEqual(pat)
      expect(await tx.pats.findByHash([new Uint8Array(32).fill(9), pat.tokenHash])).toStrictEqual(pat)
      expect(await tx.pats.findByHash([])).toBeUndefined()
      expect(await tx.pats.lock(freshId("pat"))).toBeUndefined()
    })
  })

  test("are revoked once", async () => {
    const pat = newPat(await putPerson(store))
    await store.transaction(async (tx) => {
      await tx.pats.insert(pat)
      expect(await tx.pats.revoke(pat.id, "LEAKED", 5_000)).toBe(true)
      expect(await tx.pats.revoke(pat.id, "REVOKED", 6_000)).toBe(false)
      expect(await tx.pats.lock(pat.id)).toStrictEqual({ ...pat, revokedAtMs: 5_000, revokeReason: "LEAKED" })
    })
  })

  test("record their last use to the minute", async () => {
    const pat = newPat(await putPerson(store))
    await store.transaction(async (tx) => {
      await tx.pats.insert(pat)
      const lastUse = async () => (await tx.pats.lock(pat.id))?.lastUsedAtMs
      await tx.pats.markUsed(pat.id, 100_000)
      expect(await lastUse()).toBe(100_000)
      await tx.pats.markUsed(pat.id, 159_999)
      expect(await lastUse()).toBe(100_000)
      await tx.pats.markUsed(pat.id, 160_000)
      expect(await lastUse()).toBe(160_000)
    })
  })

  test("are listed newest first, page by page, per person and app", async () => {
    const person = await putPerson(store)
    const twins = [newPat(person, { createdAtMs: 3_000 }), newPat(person, { createdAtMs: 3_000 })]
    const sorted = [
      newPat(person, { createdAtMs: 4_000 }),
      ...twins.toSorted((a, b) => (a.id < b.id ? 1 : -1)),
      newPat(person, { createdAtMs: 2_000 }),
    ]
    const stranger = newPat(await putPerson(store))
    await store.transaction(async (tx) => {
      for (const pat of [...sorted, stranger]) await tx.pats.insert(pat)
      const list = (size: number, before: (typeof sorted)[0] | null) =>
        tx.pats.list(person.principal.id, app.id, { size, before })
      expect(await list(10, null)).toStrictEqual(sorted)
      expect(await list(2, null)).toStrictEqual(sorted.slice(0, 2))
      expect(await list(2, sorted[1] ?? null)).toStrictEqual(sorted.slice(2))
      expect(await tx.pats.list(person.principal.id, freshId("app"), { size: 9, before: null })).toEqual([])
    })
  })
})
