// Concurrent changes by administrators, and sign-ins during them.
import type { Place } from "@signet/kernel/administration/ports"
import { isOpen } from "@signet/kernel/authz/liveness"
import type { Store } from "@signet/kernel/ports"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { describeOnPostgres, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import {
  newApp,
  newClient,
  newContext,
  newGrant,
  newInvitation,
  newPermission,
  newRole,
  newTenant,
} from "../testing/administration.ts"
import { app, freshId, newPerson, newSession, type Person, putApp, putPerson } from "../testing/people.ts"

const crowd = 10
const each = <T>(work: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: crowd }, (_, i) => work(i)))

describeOnPostgres("administrators that meet", () => {
  describe.each(["read committed", "serializable"] as const)("%s", (isolationLevel) => {
    let opened: TestStore
    let store: Store
    beforeAll(async () => {
      opened = await openTestStore("postgres", { isolationLevel, maxConnections: crowd + 1 })
      store = opened.store
      await putApp(store)
    })
    afterAll(() => opened.close())

    const winners = (outcomes: readonly boolean[]) => outcomes.filter(Boolean).length

    test("of ten calls with one invitation's code, one accepts it", async () => {
      const invitation = newInvitation()
      await store.transaction((tx) => tx.invitations.insert(invitation))
      const outcomes = await each((i) =>
        store.transaction(async (tx) => {
          const found = await tx.invitations.lockByCode([invitation.codeHash])
          if (found?.status !== "PENDING") return false
          await tx.invitations.update({ ...found, status: "ACCEPTED", answeredAtMs: i })
          return true
        }),
      )
      expect(winners(outcomes)).toBe(1)
    })

    test("of ten grants of one role at one node, one is inserted", async () => {
      const { principal } = await putPerson(store)
      const role = newRole()
      await store.transaction((tx) => tx.roles.insert(role))
      const make = () => newGrant({ principalId: principal.id, roleId: role.id })
      expect(winners(await each(() => store.transaction((tx) => tx.grants.insert(make()))))).toBe(1)
      const live = await store.transaction((tx) => tx.grants.listOfPrincipal(principal.id, app.id))
      expect(live).toHaveLength(1)
    })

    test("of ten calls that link one account, one succeeds", async () => {
      const { account } = newPerson()
      const people = await each(() => putPerson(store))
      const outcomes = await Promise.all(
        people.map(({ identity }) =>
          store.transaction((tx) =>
            tx.accounts.insertAccount({ ...account, id: freshId("pac"), identityId: identity.id }),
          ),
        ),
      )
      expect(winners(outcomes)).toBe(1)
      const found = await store.transaction((tx) => tx.identities.findAccount(account))
      expect(found?.identityId).toBe(people[outcomes.indexOf(true)]?.identity.id)
    })

    test("a role and the deletion of its permission: one of them fails", async () => {
      const outcomes = await each(async () => {
        const permission = newPermission()
        await store.transaction((tx) => tx.roles.insertPermission(permission))
        const [isDeleted, isNamed] = await Promise.all([
          store.transaction((tx) => tx.roles.deletePermission(permission, 5)),
          store.transaction(async (tx) => {
            const found = await tx.roles.findPermissions(app.id, [permission.key])
            return found.length === 1 && tx.roles.insert(newRole({ permissions: [permission.key] }))
          }),
        ])
        return isDeleted !== isNamed
      })
      expect(outcomes).toEqual(Array(crowd).fill(true))
    })

    const activeSessions = async (people: readonly Person[]) => {
      const ids = people.map(({ principal }) => principal.id)
      const query = opened.db.selectFrom("session").select("id").where("principal_id", "in", ids)
      return (await query.where("status", "=", "ACTIVE").execute()).length
    }

    test.each(["app", "tenant", "context"] as const)("no session survives the suspension of its %s", async (what) => {
      const [own, people] = [newApp(), await each(() => putPerson(store))]
      const client = newClient({ appId: own.id })
      const tenant = newTenant({ appId: own.id })
      const context = newContext({ appId: own.id, tenantId: tenant.id })
      await store.transaction(async (tx) => {
        await tx.administration.insertApp(own)
        await tx.administration.insertProviderClient(client)
        await tx.tenants.insert(tenant)
        await tx.contexts.insert(context)
      })
      const place: Place = { appId: own.id, tenantId: tenant.id, contextId: context.id }
      const signIn = (person: Person) =>
        store.transaction(async (tx) => {
          if (!isOpen(await tx.places.lockShared(place))) return false
          await tx.sessions.insert(newSession(person, { ...place, providerClientId: client.id }))
          return true
        })
      const suspend = () =>
        store.transaction(async (tx) => {
          const { appId, tenantId } = place
          switch (what) {
            case "app":
              await tx.administration.lockApp(own.id)
              await tx.apps.putApp({ ...own, status: "SUSPENDED" })
              return tx.endings.endByPlace({ appId, tenantId: null, contextId: null }, "app_suspended", 5_000)
            case "tenant":
              await tx.tenants.lock(tenant.id)
              await tx.tenants.update({ ...tenant, status: "SUSPENDED" })
              return tx.endings.endByPlace({ appId, tenantId, contextId: null }, "tenant_suspended", 5_000)
            case "context":
              await tx.contexts.lock(context.id)
              await tx.contexts.update({ ...context, status: "SUSPENDED" })
              return tx.endings.endByPlace(place, "context_suspended", 5_000)
          }
        })
      const [ended, ...entered] = await Promise.all([suspend(), ...people.map(signIn)])
      expect(await activeSessions(people)).toBe(0)
      expect(ended).toHaveLength(winners(entered))
      const late = people[0] && (await signIn(people[0]))
      expect(late).toBe(false)
    })

    test("no session survives the suspension of its membership", async () => {
      const people = await each(() => putPerson(store))
      await Promise.all(
        people.flatMap((person) => [
          store.transaction(async (tx) => {
            await tx.principals.lock(person.principal.id)
            const membership = await tx.identities.findMembership(person.principal.id, app.id, null, null)
            if (membership?.status === "ACTIVE") await tx.sessions.insert(newSession(person))
          }),
          store.transaction(async (tx) => {
            const membership = await tx.members.lock(person.membership.id)
            if (membership === undefined) throw new Error("no membership")
            await tx.members.update({ ...membership, status: "SUSPENDED" })
            const { id: principalId } = person.principal
            const of = { principalId, appId: app.id, tenantId: null, contextId: null }
            await tx.endings.endByMembership(of, "membership_suspended", 5_000)
          }),
        ]),
      )
      expect(await activeSessions(people)).toBe(0)
    })
  })
})
