import type { PrincipalId, TenantId } from "@signet/kernel/ids"
import type { Store } from "@signet/kernel/ports"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { newInvitation, newTenant, pagesOf, putOwnApp } from "../testing/administration.ts"
import { freshId, type Person, putApp, putPerson } from "../testing/people.ts"

describeOnEachStore("members and invitations", (kind) => {
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

  test("a membership changes its status, profile and scopes, and nothing else", async () => {
    const { membership } = await putPerson(store)
    await store.transaction(async (tx) => {
      const changed = {
        ...membership,
        status: "SUSPENDED" as const,
        profile: { name: "Ada" },
        scopes: ["a"],
        updatedAtMs: 9,
      }
      await tx.members.update({
        ...changed,
        principalId: person.principal.id,
        tenantId: freshId("ten"),
        createdAtMs: 7,
      })
      expect(await tx.members.lock(membership.id)).toStrictEqual(changed)
      expect(await tx.members.find(membership.id)).toStrictEqual(changed)
      expect(await tx.members.find(freshId("mem"))).toBeUndefined()
    })
  })

  test("only active users of a place are found", async () => {
    const [ada, bob, gone] = [await putPerson(store), await putPerson(store), await putPerson(store)]
    const guest = await putPerson(store)
    const tenantId = freshId("ten")
    const { id: appId } = await store.transaction(async (tx) => {
      const app = await putOwnApp(tx)
      const put = (of: Person, change: object) =>
        tx.identities.insertMembership({ ...of.membership, id: freshId("mem"), appId: app.id, ...change })
      await put(ada, {})
      await put(ada, { tenantId })
      await put(bob, {})
      // Members of a context only, not of a place above it.
      await put(bob, { tenantId, contextId: freshId("ctx") })
      await put(guest, { contextId: freshId("ctx") })
      await put(gone, { status: "SUSPENDED" })
      await put(gone, { tenantId })
      return app
    })
    const ids = [ada, bob, gone, guest].map(({ principal }) => principal.id)
    const asked = [...ids, freshId("prn")]
    expect((await store.members.activeUsers(asked, { appId, tenantId: null })).toSorted()).toEqual(
      ids.slice(0, 2).toSorted(),
    )
    expect(await store.members.activeUsers(asked, { appId, tenantId })).toEqual(ids.slice(0, 1))
    expect(await store.members.activeUsers(asked, { appId, tenantId: freshId("ten") })).toEqual([])
    expect(await store.members.activeUsers([], { appId, tenantId })).toEqual([])
  })

  test("active users are found by calls that share a statement", async () => {
    const people = [await putPerson(store), await putPerson(store), await putPerson(store)]
    const [ada, ben, cam] = people.map(({ principal }) => principal.id)
    const { appId } = people[0]?.membership ?? expect.fail()
    const of = (ids: (PrincipalId | undefined)[], place = { appId, tenantId: null as TenantId | null }) =>
      store.members.activeUsers(
        ids.flatMap((id) => id ?? []),
        place,
      )
    const answers = await Promise.all([
      of([ada]),
      of([ben, cam, freshId("prn")]),
      of([]),
      of([cam], { appId, tenantId: freshId("ten") }),
    ])
    expect(answers.map((ids) => ids.toSorted())).toEqual([[ada], [ben, cam].toSorted(), [], []])
  })

  test("removed users of a place are distinguished from suspended and locked ones", async () => {
    const [ada, locked, suspended, removed, deleted] = [
      await putPerson(store),
      await putPerson(store),
      await putPerson(store),
      await putPerson(store),
      await putPerson(store),
    ]
    const guest = await putPerson(store)
    const tenantId = freshId("ten")
    const { id: appId } = await store.transaction(async (tx) => {
      const app = await putOwnApp(tx)
      const put = (of: Person, change: object = {}) =>
        tx.identities.insertMembership({ ...of.membership, id: freshId("mem"), appId: app.id, ...change })
      await put(ada)
      await put(ada, { tenantId })
      await put(locked)
      await put(locked, { tenantId })
      expect(await tx.principals.lockUntil(locked.principal.id, { expiresAtMs: 9, reason: "" }, 5)).toBe(true)
      await put(suspended)
      await put(suspended, { tenantId, status: "SUSPENDED" })
      await put(removed)
      await put(removed, { tenantId, status: "REMOVED" })
      await put(deleted)
      await put(deleted, { tenantId })
      // Members of a context only, not of a place above it.
      await put(removed, { tenantId, contextId: freshId("ctx") })
      await put(guest, { contextId: freshId("ctx") })
      await tx.principals.end(deleted.principal.id, "DEACTIVATED", 5)
      return app
    })
    const stranger = freshId("prn")
    const ids = [ada, locked, suspended, removed, deleted, guest].map(({ principal }) => principal.id)
    const gone = async (place: { appId: typeof appId; tenantId: typeof tenantId | null }) =>
      (await store.members.goneUsers([...ids, stranger], place)).toSorted()
    expect(await gone({ appId, tenantId })).toEqual([...ids.slice(3), stranger].toSorted())
    expect(await gone({ appId, tenantId: null })).toEqual([...ids.slice(4), stranger].toSorted())
    expect(await store.members.goneUsers([], { appId, tenantId })).toEqual([])
  })

  test("members are listed by tenant, context, status and principal, in one app; a principal's in all of them", async () => {
    const other = await putPerson(store)
    await store.transaction(async (tx) => {
      const [{ id: appId }, elsewhere] = [await putOwnApp(tx), await putOwnApp(tx)]
      const [tenantId, contextId] = [freshId("ten"), freshId("ctx")]
      const put = (of: Person, change: object) =>
        tx.identities.insertMembership({ ...of.membership, id: freshId("mem"), appId, ...change })
      const own = await put(person, { createdAtMs: 5 })
      const inTenant = await put(person, { tenantId, createdAtMs: 6 })
      const inContext = await put(person, { tenantId, contextId, createdAtMs: 7 })
      const invited = await put(other, { tenantId, status: "INVITED", createdAtMs: 8 })
      const abroad = await put(person, { appId: elsewhere.id, createdAtMs: 9 })
      const none = { tenantId: null, contextId: null, status: null, principalId: null, principalIds: [] }
      const list = (filter: object) => pagesOf((page) => tx.members.list(appId, { ...none, ...filter }, page))
      expect(await list({})).toStrictEqual([invited, inContext, inTenant, own])
      expect(await list({ tenantId })).toStrictEqual([invited, inContext, inTenant])
      expect(await list({ contextId })).toStrictEqual([inContext])
      expect(await list({ tenantId, status: "ACTIVE" })).toStrictEqual([inContext, inTenant])
      expect(await list({ principalId: other.principal.id })).toStrictEqual([invited])
      expect(await list({ principalIds: [other.principal.id, freshId("prn")] })).toStrictEqual([invited])
      const all = await tx.members.listOfPrincipal(person.principal.id)
      expect(all).toStrictEqual([abroad, inContext, inTenant, own, person.membership])
    })
  })

  test("an invitation is found by its code under every current pepper, and keeps its answer", async () => {
    await store.transaction(async (tx) => {
      const made = newInvitation({ invitedBy: person.principal.id, scopes: ["notes.admin"] })
      await tx.invitations.insert(made)
      const [known, wrong] = [made.codeHash, new Uint8Array(32)]
      expect(await tx.invitations.lockByCode([wrong, known])).toStrictEqual(made)
      expect(await tx.invitations.lockByCode([wrong])).toBeUndefined()
      expect(await tx.invitations.lockByCode([])).toBeUndefined()
      const answer = { status: "ACCEPTED", answeredAtMs: 9, membershipId: person.membership.id } as const
      await tx.invitations.update({ ...made, ...answer, scopes: [], expiresAtMs: 10, codeHash: wrong })
      expect(await tx.invitations.lock(made.id)).toStrictEqual({ ...made, ...answer })
      expect(await tx.invitations.lock(freshId("inv"))).toBeUndefined()
    })
  })

  test("invitations are listed per app or per tenant", async () => {
    await store.transaction(async (tx) => {
      const { id: appId } = await putOwnApp(tx)
      const tenant = newTenant({ appId })
      await tx.tenants.insert(tenant)
      const own = newInvitation({ appId, createdAtMs: 5 })
      const inside = newInvitation({ appId, tenantId: tenant.id, createdAtMs: 6 })
      for (const each of [own, inside]) await tx.invitations.insert(each)
      expect(
        await pagesOf((page) => tx.invitations.list(appId, { tenantId: null, contextId: null }, page)),
      ).toStrictEqual([inside, own])
      expect(
        await pagesOf((page) => tx.invitations.list(appId, { tenantId: tenant.id, contextId: null }, page)),
      ).toStrictEqual([inside])
    })
  })
})
