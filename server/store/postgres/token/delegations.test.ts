import type { Store } from "@signet/kernel/ports"
import * as samples from "@signet/kernel/testing/machine-records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { putService } from "../testing/machines.ts"
import { app, freshId, putApp, putPerson } from "../testing/people.ts"

describeOnEachStore("delegation", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  const newPolicy = async (change: object = {}) => {
    const { principal } = await putService(store)
    return { ...samples.delegationPolicy, id: freshId("dpo"), actorPrincipalId: principal.id, ...change }
  }

  test("policies are found for their actor while they are active, listed, and revoked once", async () => {
    const tenantId = freshId("ten")
    const policy = await newPolicy({ tenantId, maxSeconds: 60, allowStanding: false })
    const actor = policy.actorPrincipalId
    await store.transaction(async (tx) => {
      await tx.delegations.insertPolicy(policy)
      for (const take of ["findPolicy", "lockPolicy"] as const) {
        expect(await tx.delegations[take](policy.id)).toStrictEqual(policy)
        expect(await tx.delegations[take](freshId("dpo"))).toBeUndefined()
      }
      expect(await tx.delegations.findPolicies(actor, app.id)).toStrictEqual([policy])
      expect(await tx.delegations.findPolicies(actor, freshId("app"))).toEqual([])
      const page = { size: 9, before: null }
      expect(await tx.delegations.listPolicies(app.id, tenantId, page)).toStrictEqual([policy])
      expect((await tx.delegations.listPolicies(app.id, null, page)).map(({ id }) => id)).not.toContain(policy.id)
      expect(await tx.delegations.listPolicies(app.id, tenantId, { size: 9, before: policy })).toEqual([])
      expect(await tx.delegations.revokePolicy(policy.id, 5_000)).toBe(true)
      expect(await tx.delegations.revokePolicy(policy.id, 6_000)).toBe(false)
      expect(await tx.delegations.findPolicies(actor, app.id)).toEqual([])
      expect(await tx.delegations.lockPolicy(policy.id)).toStrictEqual({ ...policy, revokedAtMs: 5_000 })
    })
  })

  test("standing delegations are stored, listed for their subject, and revoked once", async () => {
    const policy = await newPolicy()
    const { principal } = await putPerson(store)
    const delegation = {
      ...samples.delegation,
      id: freshId("dlg"),
      policyId: policy.id,
      actorPrincipalId: policy.actorPrincipalId,
      subjectPrincipalId: principal.id,
      contextId: freshId("ctx"),
    }
    await store.transaction(async (tx) => {
      await tx.delegations.insertPolicy(policy)
      await tx.delegations.insertDelegation(delegation)
      expect(await tx.delegations.findDelegation(delegation.id)).toStrictEqual(delegation)
      expect(await tx.delegations.findDelegation(freshId("dlg"))).toBeUndefined()
      const list = (before: typeof delegation | null) =>
        tx.delegations.listDelegations(principal.id, app.id, { size: 9, before })
      expect(await list(null)).toStrictEqual([delegation])
      expect(await list(delegation)).toEqual([])
      expect(await tx.delegations.revokeDelegation(delegation.id, 5_000)).toBe(true)
      expect(await tx.delegations.revokeDelegation(delegation.id, 6_000)).toBe(false)
      expect(await tx.delegations.findDelegation(delegation.id)).toStrictEqual({ ...delegation, revokedAtMs: 5_000 })
    })
  })

  test("the delegations of a policy are those of every subject, without revoked and expired ones", async () => {
    const [policy, another] = [await newPolicy(), await newPolicy()]
    const [ada, bob] = [await putPerson(store), await putPerson(store)]
    const of = ({ principal }: typeof ada, change: object = {}) => ({
      ...samples.delegation,
      id: freshId("dlg"),
      policyId: policy.id,
      actorPrincipalId: policy.actorPrincipalId,
      subjectPrincipalId: principal.id,
      ...change,
    })
    const first = of(ada)
    const last = of(bob, { createdAtMs: 2_000, tenantId: freshId("ten") })
    const hidden = [
      of(ada, { policyId: another.id }),
      of(ada, { expiresAtMs: 5_000 }),
      of(bob, { revokedAtMs: 3_000, expiresAtMs: 9_000 }),
    ]
    await store.transaction(async (tx) => {
      for (const each of [policy, another]) await tx.delegations.insertPolicy(each)
      for (const each of [first, last, ...hidden]) await tx.delegations.insertDelegation(each)
      const list = (before: typeof first | null, size = 9) =>
        tx.delegations.listOfPolicy(policy.id, 5_000, { size, before })
      expect(await list(null)).toStrictEqual([last, first])
      expect(await list(null, 1)).toStrictEqual([last])
      expect(await list(last)).toStrictEqual([first])
      expect(await list(first)).toEqual([])
    })
  })

  test("the delegations of all policies are those of one app, or of one tenant of it", async () => {
    const tenantId = freshId("ten")
    const [policy, another] = [await newPolicy(), await newPolicy()]
    const [ofTenant, ended] = [await newPolicy({ tenantId }), await newPolicy({ revokedAtMs: 1_000 })]
    const { principal } = await putPerson(store)
    const under = (of: typeof policy, createdAtMs: number, change: object = {}) => ({
      ...{ ...samples.delegation, id: freshId("dlg"), policyId: of.id, appId: of.appId, createdAtMs },
      ...{ actorPrincipalId: of.actorPrincipalId, subjectPrincipalId: principal.id },
      ...change,
    })
    const own = [under(policy, 3_000), under(another, 2_000), under(policy, 1_000)]
    const inTenant = under(ofTenant, 4_000)
    const hidden = [under(policy, 5_000, { revokedAtMs: 6_000 }), under(another, 5_000, { expiresAtMs: 5_000 })]
    await store.transaction(async (tx) => {
      for (const each of [policy, another, ofTenant, ended]) await tx.delegations.insertPolicy(each)
      for (const each of [...own, inTenant, ...hidden, under(ended, 1_000)]) await tx.delegations.insertDelegation(each)
      const list = async (of: typeof tenantId | null, before: (typeof own)[0] | null = null, size = 9) => {
        const found = await tx.delegations.listOfPolicies(policy.appId, of, 5_000, { size, before })
        // The app is shared with the tests above.
        return found.filter(({ subjectPrincipalId }) => subjectPrincipalId === principal.id)
      }
      expect(await list(null)).toStrictEqual(own)
      expect(await list(null, own[0])).toStrictEqual(own.slice(1))
      expect(await list(tenantId)).toStrictEqual([inTenant])
      expect(await list(freshId("ten"))).toEqual([])
    })
  })
})
