import type { Store } from "@signet/kernel/ports"
import { serviceKey } from "@signet/kernel/testing/machine-records"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"
import { newSecret, newService, putService } from "../testing/machines.ts"
import { app, freshId, putApp } from "../testing/people.ts"

describeOnEachStore("service accounts", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  test("are stored unchanged with principal and membership, and found by id and principal", async () => {
    const { account, principal, membership } = newService({
      tenantId: freshId("ten"),
      authMethods: ["private_key_jwt", "client_secret_post"],
      ownedAudiences: [`a-${freshId("sac")}`, `b-${freshId("sac")}`],
      scopes: ["notes.read", "notes.write"],
    })
    await store.transaction(async (tx) => {
      expect(await tx.serviceAccounts.insert(account, principal, membership)).toBe(true)
      expect(await tx.serviceAccounts.find(account.id)).toStrictEqual(account)
      expect(await tx.serviceAccounts.lock(account.id)).toStrictEqual(account)
      expect(await tx.serviceAccounts.findByPrincipal(principal.id)).toStrictEqual(account)
      expect(await tx.identities.findPrincipal(principal.id)).toStrictEqual(principal)
      expect(await tx.identities.findMembership(principal.id, app.id, account.tenantId, null)).toStrictEqual(membership)
    })
  })

  test("an audience has one owner, and a second claim inserts nothing", async () => {
    const [taken, free] = [freshId("sac"), freshId("sac")]
    await putService(store, { ownedAudiences: [taken] })
    const late = newService({ ownedAudiences: [free, taken] })
    await store.transaction(async (tx) => {
      expect(await tx.serviceAccounts.insert(late.account, late.principal, late.membership)).toBe(false)
      expect(await tx.serviceAccounts.find(late.account.id)).toBeUndefined()
      expect(await tx.identities.findPrincipal(late.principal.id)).toBeUndefined()
      const next = newService({ ownedAudiences: [free] })
      expect(await tx.serviceAccounts.insert(next.account, next.principal, next.membership)).toBe(true)
    })
  })

  test("are listed newest first, page by page, of the app itself or of one tenant", async () => {
    const appId = freshId("app")
    const tenantId = freshId("ten")
    await store.transaction((tx) => tx.apps.putApp({ ...app, id: appId }))
    const at = (createdAtMs: number, change = {}) => putService(store, { appId, createdAtMs, ...change })
    const own = [await at(4_000), await at(3_000), await at(2_000)].map(({ account }) => account)
    const { account: inTenant } = await at(5_000, { tenantId })
    await store.transaction(async (tx) => {
      const list = (tenant: typeof tenantId | null, size = 9, before: (typeof own)[0] | null = null) =>
        tx.serviceAccounts.list({ appId, tenantId: tenant }, [], { size, before })
      const some = own.slice(1).map(({ principalId }) => principalId)
      const asked = [...some, inTenant.principalId, freshId("prn")]
      const page = { size: 9, before: null }
      expect(await tx.serviceAccounts.list({ appId, tenantId: null }, asked, page)).toStrictEqual(own.slice(1))
      expect(await list(null)).toStrictEqual(own)
      expect(await list(tenantId)).toStrictEqual([inTenant])
      expect(await list(null, 2)).toStrictEqual(own.slice(0, 2))
      expect(await list(null, 2, own[1] ?? null)).toStrictEqual(own.slice(2))
    })
  })

  test("are disabled and enabled once each", async () => {
    const { account } = await putService(store)
    await store.transaction(async (tx) => {
      expect(await tx.serviceAccounts.setStatus(account.id, "ACTIVE", 5)).toBe(false)
      expect(await tx.serviceAccounts.setStatus(account.id, "DISABLED", 5)).toBe(true)
      expect((await tx.serviceAccounts.find(account.id))?.status).toBe("DISABLED")
    })
  })

  test("secrets are shortened and never prolonged, revoked once, and record their use to the minute", async () => {
    const { account } = await putService(store)
    const [first, second] = [newSecret(account, { createdAtMs: 1 }), newSecret(account, { createdAtMs: 2 })]
    await store.transaction(async (tx) => {
      await tx.serviceAccounts.insertSecret(first)
      await tx.serviceAccounts.insertSecret(second)
      expect(await tx.serviceAccounts.secrets(account.id)).toStrictEqual([second, first])
      await tx.serviceAccounts.shortenSecret(first.id, 50_000)
      await tx.serviceAccounts.shortenSecret(first.id, 60_000)
      await tx.serviceAccounts.markSecretUsed(first.id, 1_000)
      await tx.serviceAccounts.markSecretUsed(first.id, 60_999)
      expect(await tx.serviceAccounts.revokeSecret(second.id, 7_000)).toBe(true)
      expect(await tx.serviceAccounts.revokeSecret(second.id, 8_000)).toBe(false)
      expect(await tx.serviceAccounts.secrets(account.id)).toStrictEqual([
        { ...second, revokedAtMs: 7_000 },
        { ...first, expiresAtMs: 50_000, lastUsedAtMs: 1_000 },
      ])
    })
  })

  test("keys are inserted once, never reused, and revoked once", async () => {
    const { account } = await putService(store)
    const key = { ...serviceKey, serviceAccountId: account.id }
    await store.transaction(async (tx) => {
      expect(await tx.serviceAccounts.insertKey(key)).toBe(true)
      expect(await tx.serviceAccounts.insertKey({ ...key, x: "other" })).toBe(false)
      expect(await tx.serviceAccounts.keys(account.id)).toStrictEqual([key])
      expect(await tx.serviceAccounts.revokeKey(account.id, key.kid, 5_000)).toBe(true)
      expect(await tx.serviceAccounts.revokeKey(account.id, key.kid, 6_000)).toBe(false)
      expect(await tx.serviceAccounts.insertKey(key)).toBe(false)
      expect(await tx.serviceAccounts.keys(account.id)).toStrictEqual([{ ...key, revokedAtMs: 5_000 }])
    })
  })
})

describeOnPostgres("service accounts that meet", () => {
  test("of ten concurrent claims of the same audiences, in any order, one succeeds", async () => {
    const opened = await openTestStore("postgres", { maxConnections: 10 })
    await putApp(opened.store)
    const audiences = ["one", "two", "three"].map((name) => `${name}-${freshId("sac")}`)
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, i) => {
        const { account, principal, membership } = newService({
          ownedAudiences: i % 2 === 0 ? audiences : audiences.toReversed(),
        })
        return opened.store.transaction((tx) => tx.serviceAccounts.insert(account, principal, membership))
      }),
    )
    expect(outcomes.filter(Boolean)).toHaveLength(1)
    await opened.close()
  })
})
