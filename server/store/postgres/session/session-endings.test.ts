import type { SessionEndings } from "@signet/kernel/administration/ports"
import type { Store } from "@signet/kernel/ports"
import type { Session } from "@signet/kernel/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { newApp, newClient } from "../testing/administration.ts"
import { freshId, newSession, newToken, type Person, putApp, putPerson } from "../testing/people.ts"

describeOnEachStore("sessions that end because something else does", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  /** Two people with sessions at several places, and the ids of their ended sessions. */
  async function world() {
    const [ada, bob] = [await putPerson(store), await putPerson(store)]
    const app = newApp()
    const client = newClient({ appId: app.id })
    const [tenantId, contextId] = [freshId("ten"), freshId("ctx")]
    const at = (person: Person, change: Partial<Session> = {}) =>
      newSession(person, { appId: app.id, providerClientId: client.id, ...change })
    const sessions = {
      inApp: at(ada),
      inTenant: at(ada, { tenantId }),
      inContext: at(ada, { tenantId, contextId }),
      bobInTenant: at(bob, { tenantId }),
      elsewhere: newSession(ada),
      over: at(ada, { tenantId, status: "REVOKED", revokedAtMs: 2, revokeReason: "logout" }),
    }
    await store.transaction(async (tx) => {
      await tx.administration.insertApp(app)
      await tx.administration.insertProviderClient(client)
      for (const session of Object.values(sessions)) {
        await tx.sessions.insert(session)
        await tx.refreshTokens.insert(newToken(session))
      }
    })
    const names = new Map(Object.entries(sessions).map(([name, { id }]) => [id, name]))
    const ended = async (end: (endings: SessionEndings) => Promise<readonly Session["id"][]>) =>
      (await store.transaction((tx) => end(tx.endings))).map((id) => names.get(id) ?? id).toSorted()
    return { ada, bob, app, client, tenantId, contextId, sessions, ended }
  }

  test("with a device, its user's sessions at the place, except one that has another device now", async () => {
    const { ada, bob, app, tenantId, sessions, ended } = await world()
    const [lost, other] = [freshId("dev"), freshId("dev")]
    const { inTenant, bobInTenant, inApp } = sessions
    const of = (person: Person) => ({ principalId: person.principal.id, appId: app.id, tenantId })
    await store.transaction(async (tx) => {
      await tx.sessions.bindDevice(inTenant.id, lost, of(ada))
      await tx.sessions.bindDevice(bobInTenant.id, lost, of(bob))
      // Of another user, and at another place: unchanged.
      await tx.sessions.bindDevice(bobInTenant.id, other, of(ada))
      await tx.sessions.bindDevice(inApp.id, lost, of(ada))
      const bound = async (id: Session["id"]) => (await tx.sessions.find(id))?.boundDeviceId
      expect([await bound(inTenant.id), await bound(bobInTenant.id), await bound(inApp.id)]).toEqual([lost, lost, null])
    })
    const end = (except: Session["id"] | null) =>
      ended((endings) => endings.endByDevices({ ...of(ada), deviceIds: [lost], except }, "device_revoked", 5_000))
    expect(await end(inTenant.id)).toEqual([])
    expect(await end(null)).toEqual(["inTenant"])
    expect(await end(null)).toEqual([])
  })

  test("with an account, its sessions in every app", async () => {
    const { ada, sessions, ended } = await world()
    const end = () => ended((endings) => endings.endByAccount(ada.account.id, "account_blocked", 5_000))
    expect(await end()).toEqual(["elsewhere", "inApp", "inContext", "inTenant"])
    expect(await end()).toEqual([])
    await store.transaction(async (tx) => {
      const { status, revokedAtMs, revokeReason } = (await tx.sessions.find(sessions.inApp.id)) ?? sessions.over
      expect([status, revokedAtMs, revokeReason]).toEqual(["REVOKED", 5_000, "account_blocked"])
      expect((await tx.sessions.find(sessions.over.id))?.revokeReason).toBe("logout")
      const [revocation] = await tx.revocations.find([sessions.inApp.id], 5_001)
      expect(revocation?.kind).toBe("SESSION")
    })
    const query = opened.db.selectFrom("refresh_token").select("revoked_at").where("session_id", "=", sessions.inApp.id)
    expect(await query.execute()).toEqual([{ revoked_at: new Date(5_000) }])
  })

  test("with a provider client, all of its sessions", async () => {
    const { client, ended } = await world()
    const end = () => ended((endings) => endings.endByClient(client.id, "client_disabled", 5_000))
    expect(await end()).toEqual(["bobInTenant", "inApp", "inContext", "inTenant"])
  })

  test("a provider client's active sessions are counted, up to a limit, and none of them ends", async () => {
    const { ada, app, client, ended } = await world()
    const at = (change: Partial<Session>) => newSession(ada, { appId: app.id, providerClientId: client.id, ...change })
    await store.transaction(async (tx) => {
      await tx.sessions.insert(at({ idleExpiresAtMs: 5_000 }))
      await tx.sessions.insert(at({ absoluteExpiresAtMs: 5_000 }))
      expect(await tx.endings.countByClient(client.id, 5_000, 9)).toBe(4)
      expect(await tx.endings.countByClient(client.id, 4_999, 9)).toBe(6)
      expect(await tx.endings.countByClient(client.id, 5_000, 3)).toBe(3)
      expect(await tx.endings.countByClient(newClient().id, 5_000, 9)).toBe(0)
    })
    expect(await ended((endings) => endings.endByClient(client.id, "client_disabled", 5_000))).toHaveLength(6)
    expect(await store.transaction((tx) => tx.endings.countByClient(client.id, 5_000, 9))).toBe(0)
  })

  test("with a membership, the member's sessions at the place and inside of it", async () => {
    const { ada, app, tenantId, contextId, ended } = await world()
    const end = (inner: { tenantId: typeof tenantId | null; contextId: typeof contextId | null }) =>
      ended((endings) =>
        endings.endByMembership({ principalId: ada.principal.id, appId: app.id, ...inner }, "membership_ended", 5_000),
      )
    expect(await end({ tenantId: freshId("ten"), contextId: null })).toEqual([])
    expect(await end({ tenantId, contextId })).toEqual(["inContext"])
    expect(await end({ tenantId, contextId: null })).toEqual(["inTenant"])
    expect(await end({ tenantId: null, contextId: null })).toEqual(["inApp"])
  })

  test("with a place, all sessions there", async () => {
    const { app, tenantId, contextId, ended } = await world()
    const end = (inner: { tenantId: typeof tenantId | null; contextId: typeof contextId | null }) =>
      ended((endings) => endings.endByPlace({ appId: app.id, ...inner }, "place_closed", 5_000))
    expect(await end({ tenantId: freshId("ten"), contextId: null })).toEqual([])
    expect(await end({ tenantId, contextId })).toEqual(["inContext"])
    expect(await end({ tenantId, contextId: null })).toEqual(["bobInTenant", "inTenant"])
    expect(await end({ tenantId: null, contextId: null })).toEqual(["inApp"])
  })
})
