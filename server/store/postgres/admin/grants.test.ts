import type { Grant } from "@signet/kernel/administration/records"
import type { Store, Tx } from "@signet/kernel/ports"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { newContext, newGrant, newRole, newTenant, pagesOf, putOwnApp } from "../testing/administration.ts"
import { freshId, type Person, putApp, putPerson } from "../testing/people.ts"

describeOnEachStore("grants", (kind) => {
  let opened: TestStore
  let store: Store
  let person: Person
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
    person = await putPerson(store)
  })
  afterAll(() => opened.close())

  /** An app with a tenant, a context in the tenant and a role, which is granted to the person at these places. */
  async function world(tx: Tx) {
    const { id: appId } = await putOwnApp(tx)
    const tenant = newTenant({ appId })
    const context = newContext({ appId, tenantId: tenant.id })
    const role = newRole({ appId })
    await tx.tenants.insert(tenant)
    await tx.contexts.insert(context)
    await tx.roles.insert(role)
    const make = (change: Partial<Grant> = {}) =>
      newGrant({ appId, principalId: person.principal.id, roleId: role.id, ...change })
    return { appId, tenantId: tenant.id, contextId: context.id, role, make }
  }

  test("a role is granted once at each node", async () => {
    await store.transaction(async (tx) => {
      const { tenantId, contextId, make } = await world(tx)
      const resource = { type: "note", id: "n1" }
      const nodes = [
        {},
        { tenantId },
        { tenantId, contextId },
        { tenantId, contextId, resource },
        { tenantId, contextId, resource: { ...resource, id: "n2" } },
      ]
      for (const node of nodes) {
        const grant = make({ ...node, expiresAtMs: 9_000 })
        expect(await tx.grants.insert(grant)).toBe(true)
        expect(await tx.grants.insert(make(node))).toBe(false)
        expect(await tx.grants.find(grant.id)).toStrictEqual(grant)
        expect(await tx.grants.lock(grant.id)).toStrictEqual(grant)
      }
      expect(await tx.grants.find(freshId("grt"))).toBeUndefined()
    })
  })

  test("a revoked or expired grant does not block the next one", async () => {
    await store.transaction(async (tx) => {
      const { make } = await world(tx)
      const first = make({ expiresAtMs: 100 })
      await tx.grants.insert(first)
      expect(await tx.grants.insert(make({ createdAtMs: 99 }))).toBe(false)
      const second = make({ createdAtMs: 100 })
      expect(await tx.grants.insert(second)).toBe(true)
      expect(await tx.grants.find(first.id)).toStrictEqual({ ...first, status: "REVOKED", revokedAtMs: 100 })
      expect(await tx.grants.revoke(second.id, 200)).toBe(true)
      expect(await tx.grants.revoke(second.id, 300)).toBe(false)
      expect(await tx.grants.find(second.id)).toStrictEqual({ ...second, status: "REVOKED", revokedAtMs: 200 })
      expect(await tx.grants.insert(make())).toBe(true)
    })
  })

  test("grants are listed by place, principal and role; a principal's list has the active ones", async () => {
    const other = await putPerson(store)
    await store.transaction(async (tx) => {
      const { appId, tenantId, contextId, make } = await world(tx)
      const second = newRole({ appId })
      await tx.roles.insert(second)
      const own = make({ createdAtMs: 5 })
      const inTenant = make({ tenantId, createdAtMs: 6 })
      const inContext = make({ tenantId, contextId, createdAtMs: 7 })
      const theirs = make({ principalId: other.principal.id, createdAtMs: 8 })
      const ofSecond = make({ roleId: second.id, createdAtMs: 9 })
      for (const each of [own, inTenant, inContext, theirs, ofSecond]) await tx.grants.insert(each)
      const none = { tenantId: null, contextId: null, principalId: null, roleId: null }
      const list = (filter: object) => pagesOf((page) => tx.grants.list(appId, { ...none, ...filter }, page))
      expect(await list({})).toStrictEqual([ofSecond, theirs, inContext, inTenant, own])
      expect(await list({ tenantId })).toStrictEqual([inContext, inTenant])
      expect(await list({ contextId })).toStrictEqual([inContext])
      expect(await list({ principalId: other.principal.id })).toStrictEqual([theirs])
      expect(await list({ roleId: second.id })).toStrictEqual([ofSecond])

      await tx.grants.revoke(own.id, 10)
      const live = (of: Person) => tx.grants.listOfPrincipal(of.principal.id, appId)
      expect((await live(person)).map(({ id }) => id).toSorted()).toEqual(
        [inTenant, inContext, ofSecond].map(({ id }) => id).toSorted(),
      )
      expect(await live(other)).toStrictEqual([theirs])
      const ended = await tx.grants.revokeOfRole(second.id, 11)
      expect(ended).toStrictEqual([{ ...ofSecond, status: "REVOKED", revokedAtMs: 11 }])
      expect(await tx.grants.revokeOfRole(second.id, 12)).toEqual([])
    })
  })
})
