import type { Store } from "@signet/kernel/ports"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { newApp, newClient, pagesOf, putOwnApp } from "../testing/administration.ts"

describeOnEachStore("apps and provider clients, administered", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
  })
  afterAll(() => opened.close())

  test("an app is inserted once, and there is one installation app at most", async () => {
    const [own, one, other] = [newApp(), newApp({ isInstallation: true }), newApp({ isInstallation: true })]
    await store.transaction(async (tx) => {
      expect(await tx.administration.findInstallation()).toBeUndefined()
      expect(await tx.administration.insertApp(own)).toBe(true)
      expect(await tx.administration.insertApp({ ...own, name: "Other" })).toBe(false)
      expect(await tx.administration.lockApp(own.id)).toStrictEqual(own)
      expect(await tx.administration.insertApp(one)).toBe(true)
      expect(await tx.administration.insertApp(other)).toBe(false)
      expect(await tx.administration.findInstallation()).toStrictEqual(one)
      expect(await tx.administration.lockApp(other.id)).toBeUndefined()
    })
  })

  test("apps are listed newest first, then by id", async () => {
    const apps = [9_000, 8_000, 9_000].map((createdAtMs) => newApp({ createdAtMs }))
    await store.transaction(async (tx) => {
      for (const app of apps) await tx.administration.insertApp(app)
      const listed = await pagesOf((page) => tx.administration.listApps(page))
      const ids = apps.toSorted((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1)).map((app) => app.id)
      expect(listed.slice(0, 3).map((app) => app.id)).toEqual(ids)
    })
  })

  test("an app has one client per provider and platform, and lists its own", async () => {
    await store.transaction(async (tx) => {
      const [{ id: appId }, other] = [await putOwnApp(tx), await putOwnApp(tx)]
      const web = newClient({ appId, createdAtMs: 5, clientSecretSealed: Uint8Array.of(7) })
      const ios = newClient({ appId, platform: "IOS", createdAtMs: 6 })
      expect(await tx.administration.insertProviderClient(web)).toBe(true)
      expect(await tx.administration.insertProviderClient(ios)).toBe(true)
      expect(await tx.administration.insertProviderClient(newClient({ appId }))).toBe(false)
      expect(await tx.administration.insertProviderClient(newClient({ appId: other.id }))).toBe(true)
      expect(await tx.administration.lockProviderClient(web.id)).toStrictEqual(web)
      expect(await pagesOf((page) => tx.administration.listProviderClients(appId, page))).toStrictEqual([ios, web])
    })
  })

  test("notifications are for enabled clients of active apps", async () => {
    await store.transaction(async (tx) => {
      const provider = "IDP_B"
      const [own, stopped] = [await putOwnApp(tx), await putOwnApp(tx)]
      const taking = newClient({ appId: own.id, provider })
      await tx.administration.insertProviderClient(taking)
      const disabled = newClient({ appId: own.id, provider, platform: "IOS", status: "DISABLED" })
      await tx.administration.insertProviderClient(disabled)
      await tx.administration.insertProviderClient(newClient({ appId: own.id, provider: "IDP_C" }))
      await tx.administration.insertProviderClient(newClient({ appId: stopped.id, provider }))
      await tx.apps.putApp({ ...stopped, status: "SUSPENDED" })
      expect(await tx.administration.findProviderClients(provider)).toStrictEqual([taking])
    })
  })
})
