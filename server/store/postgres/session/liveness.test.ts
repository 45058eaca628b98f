import { newId } from "@signet/kernel/ids"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { newContext, newTenant } from "../testing/administration.ts"
import { putService } from "../testing/machines.ts"
import { app, freshId, putApp, putSession } from "../testing/people.ts"

describeOnEachStore("liveness", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
    await putApp(opened.store)
  })
  afterAll(() => opened.close())

  const none = {
    actorId: null,
    credentialId: null,
    tokenId: null,
    tenantId: null,
    contextId: null,
    issuedAtMs: 4,
    nowMs: 5,
  }

  test("reports principal, identity, session, membership and app", async () => {
    const { person, session } = await putSession(opened.store)
    const { idleExpiresAtMs, absoluteExpiresAtMs } = session
    const question = { principalId: person.principal.id, sessionId: session.id, appId: app.id, ...none }
    const alive = {
      principal: "ACTIVE",
      actor: undefined,
      identity: "ACTIVE",
      app: "ACTIVE",
      tenant: null,
      context: null,
      membership: "ACTIVE",
      session: { status: "ACTIVE", idleExpiresAtMs, absoluteExpiresAtMs },
      revoked: [],
      minimum: { principal: 0, policy: 0 },
      // The version of the membership.
      current: { principal: 1, policy: 0 },
    }
    expect(await opened.liveness.find(question)).toStrictEqual(alive)

    await opened.store.transaction((tx) => tx.sessions.end(session.id, "REVOKED", "logout", 5))
    await opened.db
      .updateTable("principal")
      .set({ status: "LOCKED", lock_expires_at: new Date() })
      .where("id", "=", person.principal.id)
      .execute()
    expect(await opened.liveness.find(question)).toStrictEqual({
      ...alive,
      principal: "LOCKED",
      session: { status: "REVOKED", idleExpiresAtMs, absoluteExpiresAtMs },
      revoked: ["SESSION"],
    })
  })

  test("reports no missing record, and no session of another principal or app", async () => {
    const nobody = {
      principal: undefined,
      actor: undefined,
      identity: undefined,
      app: undefined,
      tenant: null,
      context: null,
      membership: undefined,
      session: undefined,
      revoked: [],
      minimum: { principal: 0, policy: 0 },
      current: { principal: 0, policy: 0 },
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

  test("reports each revocation of principal, session, credential and token until it expires", async () => {
    const { person, session } = await putSession(opened.store)
    const asked = {
      principalId: person.principal.id,
      sessionId: session.id,
      credentialId: freshId("pat"),
      tokenId: freshId("jti"),
    }
    const find = async (change: object) =>
      (await opened.liveness.find({ appId: app.id, ...none, ...asked, ...change })).revoked
    const revoke = (kind: "TOKEN" | "CREDENTIAL" | "PRINCIPAL", key: string) =>
      opened.db
        .insertInto("revocation")
        .values({ kind, key, app_id: "", min_version: null, expires_at: new Date(9_000) })
        .execute()
    await revoke("TOKEN", asked.credentialId)
    await revoke("CREDENTIAL", asked.tokenId)
    expect(await find({})).toEqual([])
    await revoke("TOKEN", asked.tokenId)
    expect(await find({})).toEqual(["TOKEN"])
    await revoke("CREDENTIAL", asked.credentialId)
    await revoke("PRINCIPAL", asked.principalId)
    expect((await find({})).toSorted()).toEqual(["CREDENTIAL", "PRINCIPAL", "TOKEN"])
    expect((await find({ tokenId: null, nowMs: 8_999 })).toSorted()).toEqual(["CREDENTIAL", "PRINCIPAL"])
    expect(await find({ nowMs: 9_000 })).toEqual([])
  })

  test("a service account that is disabled is suspended, as a caller and as an actor", async () => {
    const { principal, account } = await putService(opened.store)
    const { person } = await putSession(opened.store)
    const find = (change: object) =>
      opened.liveness.find({ principalId: principal.id, sessionId: null, appId: app.id, ...none, ...change })
    expect(await find({})).toMatchObject({ principal: "ACTIVE", membership: "ACTIVE", identity: undefined })
    expect(await find({ principalId: person.principal.id, actorId: principal.id })).toMatchObject({ actor: "ACTIVE" })
    await opened.store.transaction((tx) => tx.serviceAccounts.setStatus(account.id, "DISABLED", 5))
    expect((await find({})).principal).toBe("SUSPENDED")
    const acting = await find({ principalId: person.principal.id, actorId: principal.id })
    expect(acting).toMatchObject({ principal: "ACTIVE", actor: "SUSPENDED" })
  })

  test("a tenant requires a membership in it besides the app's", async () => {
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

  test("reports the status of tenant and context, and of no other place's", async () => {
    const { person } = await putSession(opened.store)
    const [tenant, other] = [newTenant({ status: "SUSPENDED" }), newTenant()]
    const context = newContext({ tenantId: tenant.id, status: "ARCHIVED" })
    await opened.store.transaction(async (tx) => {
      for (const each of [tenant, other]) await tx.tenants.insert(each)
      await tx.contexts.insert(context)
    })
    const find = async (place: object) => {
      const asked = { principalId: person.principal.id, sessionId: null, appId: app.id, ...none, ...place }
      const facts = await opened.liveness.find(asked)
      return [facts.app, facts.tenant, facts.context]
    }
    expect(await find({})).toEqual(["ACTIVE", null, null])
    expect(await find({ tenantId: tenant.id })).toEqual(["ACTIVE", "SUSPENDED", null])
    expect(await find({ tenantId: tenant.id, contextId: context.id })).toEqual(["ACTIVE", "SUSPENDED", "ARCHIVED"])
    expect(await find({ tenantId: other.id, contextId: context.id })).toEqual(["ACTIVE", "ACTIVE", undefined])
    expect(await find({ tenantId: freshId("ten"), contextId: null })).toEqual(["ACTIVE", undefined, null])
    expect(await find({ appId: freshId("app"), tenantId: other.id })).toEqual([undefined, undefined, null])
  })
})
