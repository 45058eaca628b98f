import type { Store } from "@signet/kernel/ports"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { newContext, newTenant, pagesOf, putOwnApp } from "../testing/administration.ts"
import { freshId } from "../testing/people.ts"

describeOnEachStore("tenants, contexts and where they stand", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
  })
  afterAll(() => opened.close())

  test("a tenant is stored, changes its name and status, and is listed in its app", async () => {
    await store.transaction(async (tx) => {
      const { id: appId } = await putOwnApp(tx)
      const [older, newer] = [newTenant({ appId, createdAtMs: 5 }), newTenant({ appId, createdAtMs: 6 })]
      await tx.tenants.insert(older)
      await tx.tenants.insert(newer)
      await tx.tenants.insert(newTenant({ appId: (await putOwnApp(tx)).id }))
      expect(await tx.tenants.find(older.id)).toStrictEqual(older)
      expect(await tx.tenants.find(freshId("ten"))).toBeUndefined()
      const changed = { ...older, name: "Renamed", status: "SUSPENDED" as const, updatedAtMs: 7 }
      await tx.tenants.update({ ...changed, appId: freshId("app"), createdAtMs: 9 })
      expect(await tx.tenants.lock(older.id)).toStrictEqual(changed)
      expect(await pagesOf((page) => tx.tenants.list(appId, [], page))).toStrictEqual([newer, changed])
      const asked = [older.id, freshId("ten")]
      expect(await pagesOf((page) => tx.tenants.list(appId, asked, page))).toStrictEqual([changed])
    })
  })

  test("a context is stored, changes, and is listed in its app and its tenant", async () => {
    await store.transaction(async (tx) => {
      const { id: appId } = await putOwnApp(tx)
      const [tenant, other] = [newTenant({ appId }), newTenant({ appId })]
      const own = newContext({ appId, createdAtMs: 5 })
      const inside = newContext({ appId, tenantId: tenant.id, createdAtMs: 6 })
      const elsewhere = newContext({ appId, tenantId: other.id, createdAtMs: 7 })
      for (const each of [tenant, other]) await tx.tenants.insert(each)
      for (const each of [own, inside, elsewhere]) await tx.contexts.insert(each)
      expect(await tx.contexts.find(inside.id)).toStrictEqual(inside)
      const changed = { ...inside, name: "Gemini", type: "team", status: "ARCHIVED" as const, updatedAtMs: 8 }
      await tx.contexts.update({ ...changed, tenantId: other.id })
      expect(await tx.contexts.lock(inside.id)).toStrictEqual(changed)
      const list = (of: typeof tenant | null, ids: readonly string[] = []) =>
        pagesOf((page) => tx.contexts.list(appId, { tenantId: of?.id ?? null, ids }, page))
      expect(await list(null)).toStrictEqual([elsewhere, changed, own])
      expect(await list(tenant)).toStrictEqual([changed])
      expect(await list(null, [own.id, changed.id])).toStrictEqual([changed, own])
      expect(await list(tenant, [own.id])).toEqual([])
    })
  })

  test.each(["find", "lockShared"] as const)(
    "%s: a missing place, or one of another app or tenant, is not found",
    async (how) => {
      await store.transaction(async (tx) => {
        const [{ id: appId }, stranger] = [await putOwnApp(tx), await putOwnApp(tx)]
        const [tenant, other] = [newTenant({ appId, status: "SUSPENDED" }), newTenant({ appId })]
        const foreign = newTenant({ appId: stranger.id })
        const [own, inside] = [newContext({ appId }), newContext({ appId, tenantId: tenant.id, status: "ARCHIVED" })]
        for (const each of [tenant, other, foreign]) await tx.tenants.insert(each)
        for (const each of [own, inside]) await tx.contexts.insert(each)
        const ask = async (inner: { id: typeof tenant.id } | null, context: { id: typeof own.id } | null) => {
          const facts = await tx.places[how]({ appId, tenantId: inner?.id ?? null, contextId: context?.id ?? null })
          return [facts.app, facts.tenant, facts.context]
        }
        expect(await ask(null, null)).toEqual(["ACTIVE", null, null])
        expect(await ask(tenant, inside)).toEqual(["ACTIVE", "SUSPENDED", "ARCHIVED"])
        expect(await ask(other, inside)).toEqual(["ACTIVE", "ACTIVE", undefined])
        expect(await ask(null, inside)).toEqual(["ACTIVE", null, undefined])
        expect(await ask(null, own)).toEqual(["ACTIVE", null, "ACTIVE"])
        expect(await ask(tenant, own)).toEqual(["ACTIVE", "SUSPENDED", undefined])
        expect(await ask(foreign, null)).toEqual(["ACTIVE", undefined, null])
        expect(await ask({ id: freshId("ten") }, { id: freshId("ctx") })).toEqual(["ACTIVE", undefined, undefined])
        const nowhere = { appId: freshId("app"), tenantId: tenant.id, contextId: null }
        expect(await tx.places[how](nowhere)).toEqual({ app: undefined, tenant: undefined, context: null })
      })
    },
  )
})
