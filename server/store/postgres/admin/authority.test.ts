import type { Tx } from "@signet/kernel/ports"
import type { App } from "@signet/kernel/records"
import { longestContextMs } from "@signet/kernel/token/context-claims"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"
import { newContext, newGrant, newRole, newTenant, putOwnApp } from "../testing/administration.ts"
import { freshId, newPerson, type Person } from "../testing/people.ts"
import { restartRevocationLog } from "../token/revocation-log.ts"

/** A member of an app of their own, with a role to grant. */
async function world(tx: Tx, scopes: App["scopes"] = []) {
  const app = await putOwnApp(tx)
  await tx.apps.putApp({ ...app, scopes })
  const person: Person = newPerson()
  await tx.identities.insertIdentity(person.identity, person.account, person.principal)
  await tx.identities.insertMembership({ ...person.membership, appId: app.id })
  const role = newRole({ appId: app.id, permissions: ["notes.note.edit", "notes.note.hide"], inheritable: true })
  await tx.roles.insert(role)
  const principalId = person.principal.id
  const grant = newGrant({ appId: app.id, principalId, roleId: role.id })
  return { app, appId: app.id, person, principalId, role, grant }
}

describeOnEachStore("authority", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
  })
  afterAll(() => opened.close())

  test("rises by one in the transaction of its change", async () => {
    const { appId, principalId, grant } = await opened.store.transaction((tx) => world(tx))
    const find = () => opened.store.transaction((tx) => tx.authorities.find(principalId, appId))
    const before = await find()
    await opened.store.transaction((tx) => tx.grants.insert(grant))
    expect(await find()).toEqual({ ...before, principal: before.principal + 1 })
    const failed = opened.store.transaction(async (tx) => {
      await tx.grants.revoke(grant.id, 9_000)
      throw new Error("after all")
    })
    await expect(failed).rejects.toThrow("after all")
    expect(await find()).toEqual({ ...before, principal: before.principal + 1 })
    expect(await opened.store.transaction((tx) => tx.revocations.find([principalId], 0))).toEqual([])
  })

  test("that is removed is published as a minimum version, for the life of tokens and contexts", async () => {
    const { appId, principalId, grant, role } = await opened.store.transaction((tx) => world(tx))
    await opened.store.transaction(async (tx) => {
      await tx.grants.insert(grant)
      await tx.grants.revoke(grant.id, 9_000)
      await tx.roles.update({ ...role, permissions: ["notes.note.edit"], updatedAtMs: 9_000 })
      const { principal, policy } = await tx.authorities.find(principalId, appId)
      const expiresAtMs = 9_000 + longestContextMs
      expect(await tx.revocations.find([principalId, appId], 9_000)).toEqual([
        { kind: "AUTHORITY", key: principalId, appId, minVersion: principal, expiresAtMs },
        { kind: "POLICY", key: appId, minVersion: policy, expiresAtMs },
      ])
    })
    const question = { principalId, appId, tenantId: null, contextId: null, nowMs: 9_000, issuedAtMs: 0 }
    const nobody = { actorId: null, sessionId: null, credentialId: null, tokenId: null }
    const { minimum, current } = await opened.liveness.find({ ...question, ...nobody })
    expect(minimum).toEqual(current)
    // A wider authority does not refuse earlier tokens.
    await opened.store.transaction((tx) => tx.grants.insert({ ...grant, id: freshId("grt") }))
    const after = await opened.liveness.find({ ...question, ...nobody })
    expect(after.minimum).toEqual(minimum)
    expect(after.current?.principal).toBe(Number(current?.principal) + 1)
  })

  test("after a restore no principal's version is issued twice", async () => {
    const one = await opened.store.transaction((tx) => world(tx))
    const find = () => opened.store.transaction((tx) => tx.authorities.find(one.principalId, one.appId))
    const backup = await find()
    await opened.store.transaction((tx) => tx.grants.insert(one.grant))
    await restartRevocationLog(opened.db, 9_000)
    const after = await find()
    expect(after.principal).toBeGreaterThan(backup.principal + 100_000)
    expect(after.policy).toBeGreaterThan(backup.policy + 100_000)
    await restartRevocationLog(opened.db, 9_000)
    expect((await find()).principal).toBeGreaterThan(after.principal + 100_000)
  })

  test("is separate for each principal and app", async () => {
    await opened.store.transaction(async (tx) => {
      const [one, other] = [await world(tx), await world(tx)]
      await tx.grants.insert(one.grant)
      const versions = await tx.authorities.find(other.principalId, other.appId)
      await tx.grants.revoke(one.grant.id, 9_000)
      expect(await tx.authorities.find(other.principalId, other.appId)).toEqual(versions)
      expect((await tx.authorities.find(one.principalId, other.appId)).principal).toBe(0)
      expect(await tx.authorities.find(freshId("prn"), freshId("app"))).toEqual({ principal: 0, policy: 0 })
    })
  })

  test("has a snapshot at a place, limited by the scopes there", async () => {
    await opened.store.transaction(async (tx) => {
      const scopes = [
        { key: "notes.write", audience: "svc-notes", isDefault: true, permissions: ["notes.note.edit"] },
        { key: "notes.read", audience: "svc-notes", isDefault: true },
      ]
      const { appId, principalId, role, grant } = await world(tx, scopes)
      const [tenant, otherTenant] = [newTenant({ appId }), newTenant({ appId })]
      const context = newContext({ appId, tenantId: tenant.id })
      for (const one of [tenant, otherTenant]) await tx.tenants.insert(one)
      await tx.contexts.insert(context)
      const archived = newRole({ appId, permissions: ["notes.note.edit"] })
      await tx.roles.insert(archived)
      const places = {
        app: {},
        tenant: { tenantId: tenant.id },
        context: { tenantId: tenant.id, contextId: context.id },
        other: { tenantId: otherTenant.id },
        ended: { tenantId: tenant.id, resource: { type: "note", id: "1" }, expiresAtMs: 5_000 },
        ending: { tenantId: tenant.id, resource: { type: "note", id: "2" }, expiresAtMs: 5_001 },
      }
      for (const place of Object.values(places))
        await tx.grants.insert({ ...grant, ...place, id: freshId("grt"), createdAtMs: 1 })
      await tx.grants.insert({ ...grant, id: freshId("grt"), roleId: archived.id })
      await tx.roles.update({ ...archived, status: "ARCHIVED" })
      // Grants that differ in one column: revoked, of another principal, of another app.
      const elsewhere = await world(tx)
      const somebody = newPerson()
      await tx.identities.insertIdentity(somebody.identity, somebody.account, somebody.principal)
      await tx.identities.insertMembership({ ...somebody.membership, appId })
      const revoked = { ...grant, id: freshId("grt"), resource: { type: "note", id: "3" } }
      const neighbours = [
        revoked,
        { ...grant, id: freshId("grt"), principalId: somebody.principal.id },
        { ...grant, id: freshId("grt"), appId: elsewhere.appId, roleId: elsewhere.role.id },
      ]
      for (const one of neighbours) expect(await tx.grants.insert(one)).toBe(true)
      await tx.grants.revoke(revoked.id, 4_000)
      const show = (place: object) =>
        tx.authorities.snapshot({ principalId, appId, tenantId: null, contextId: null, nowMs: 5_000, ...place })
      const { snapshot, versions } = await show(places.tenant)
      expect(versions).toEqual(await tx.authorities.find(principalId, appId))
      expect(snapshot.scopes).toEqual(new Map([["notes.write", new Set(["notes.note.edit"])]]))
      expect(snapshot.roles).toEqual(
        new Map([[role.id, { key: role.key, permissions: new Set(["notes.note.edit"]), inheritable: true }]]),
      )
      const shown = (grants: typeof snapshot.grants) =>
        grants.map(({ tenantId, contextId, resource, expiresAtMs }) =>
          JSON.stringify([tenantId, contextId, resource?.id ?? null, expiresAtMs]),
        )
      const { app, tenant: t, ending } = places
      expect(shown(snapshot.grants).toSorted()).toEqual(
        [
          JSON.stringify([null, null, null, null]),
          JSON.stringify([t.tenantId, null, null, null]),
          JSON.stringify([t.tenantId, null, "2", ending.expiresAtMs]),
        ].toSorted(),
      )
      expect((await show(app)).snapshot.grants).toHaveLength(1)
      expect((await show(places.context)).snapshot.grants).toHaveLength(4)
      expect((await show({ appId: freshId("app") })).snapshot.grants).toEqual([])
    })
  })
})

describeOnPostgres("authority that many change at once", () => {
  describe.each(["read committed", "serializable"] as const)("with %s", (isolationLevel) => {
    let opened: TestStore
    beforeAll(async () => {
      opened = await openTestStore("postgres", { isolationLevel, maxConnections: 10 })
    })
    afterAll(() => opened.close())

    test("rises once per change, and a published minimum never decreases", async () => {
      const { appId, principalId, role, grant } = await opened.store.transaction((tx) => world(tx))
      const grants = Array.from({ length: 8 }, (_, i) => ({
        ...{ ...grant, id: freshId("grt"), resource: { type: "note", id: String(i) } },
      }))
      for (const one of grants) await opened.store.transaction((tx) => tx.grants.insert(one))
      const before = await opened.store.transaction((tx) => tx.authorities.find(principalId, appId))
      await Promise.all([
        ...grants.map(({ id }) => opened.store.transaction((tx) => tx.grants.revoke(id, 9_000))),
        opened.store.transaction((tx) => tx.roles.update({ ...role, permissions: [] })),
      ])
      const after = await opened.store.transaction((tx) => tx.authorities.find(principalId, appId))
      expect(after).toEqual({ principal: before.principal + 8, policy: before.policy + 1 })
      const told = await opened.store.transaction((tx) => tx.revocations.find([principalId], 0))
      expect(told).toMatchObject([{ kind: "AUTHORITY", minVersion: after.principal }])
    })
  })
})
