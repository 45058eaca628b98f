import { newId } from "@signet/kernel/ids"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../test/support/postgres.ts"
import { app, freshId, putApp, putSession } from "./testing/people.ts"

describeOnEachStore("liveness", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
    await putApp(opened.store)
  })
  afterAll(() => opened.close())

  const none = { tenantId: null, contextId: null }

  test("tells of principal, identity, session, membership and app", async () => {
    const { person, session } = await putSession(opened.store)
    const { idleExpiresAtMs, absoluteExpiresAtMs } = session
    const question = { principalId: person.principal.id, sessionId: session.id, appId: app.id, ...none }
    const alive = {
      principal: "ACTIVE",
      identity: "ACTIVE",
      app: "ACTIVE",
      membership: "ACTIVE",
      session: { status: "ACTIVE", idleExpiresAtMs, absoluteExpiresAtMs },
    }
    expect(await opened.liveness.find(question)).toStrictEqual(alive)

    await opened.store.transaction((tx) => tx.sessions.end(session.id, "REVOKED", "logout", 5))
    await opened.db.updateTable("principal").set({ status: "LOCKED" }).where("id", "=", person.principal.id).execute()
    expect(await opened.liveness.find(question)).toStrictEqual({
      ...alive,
      principal: "LOCKED",
      session: { status: "REVOKED", idleExpiresAtMs, absoluteExpiresAtMs },
    })
  })

  test("tells of nothing that does not exist, and of no session that is another's or another app's", async () => {
    const nobody = {
      principal: undefined,
      identity: undefined,
      app: undefined,
      membership: undefined,
      session: undefined,
    }
    const unknown = { principalId: freshId("prn"), sessionId: freshId("ses"), appId: freshId("app"), ...none }
    expect(await opened.liveness.find(unknown)).toStrictEqual(nobody)

    const [one, other] = [await putSession(opened.store), await putSession(opened.store)]
    const question = { principalId: one.person.principal.id, sessionId: other.session.id, appId: app.id, ...none }
    expect((await opened.liveness.find(question)).session).toBeUndefined()
    const elsewhere = { ...question, sessionId: one.session.id, appId: newId("app", 2, new Uint8Array(10)) }
    expect((await opened.liveness.find(elsewhere)).session).toBeUndefined()
    expect((await opened.liveness.find({ ...question, sessionId: null })).session).toBeUndefined()
  })

  test("a tenant asks for a membership of it besides the app's", async () => {
    const { person, session } = await putSession(opened.store)
    const { membership, principal } = person
    const tenantId = freshId("ten")
    const find = async (tenant: typeof tenantId | null) =>
      (
        await opened.liveness.find({
          principalId: principal.id,
          sessionId: session.id,
          appId: app.id,
          ...none,
          tenantId: tenant,
        })
      ).membership
    expect(await find(tenantId)).toBeUndefined()
    const inTenant = { ...membership, id: freshId("mem"), tenantId, status: "SUSPENDED" as const }
    await opened.store.transaction((tx) => tx.identities.insertMembership(inTenant))
    expect(await find(tenantId)).toBe("SUSPENDED")
    expect(await find(null)).toBe("ACTIVE")
    await opened.db.updateTable("membership").set({ status: "ACTIVE" }).where("id", "=", inTenant.id).execute()
    expect(await find(tenantId)).toBe("ACTIVE")
    await opened.db.updateTable("membership").set({ status: "REMOVED" }).where("id", "=", membership.id).execute()
    expect(await find(tenantId)).toBe("REMOVED")
  })
})
