// Attempts by an administrator and a user of one place to use policies and delegations of another.
import { newId } from "@signet/kernel/ids"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, refusal } from "../support/clients.ts"
import { addMachine, addOtherApp, type Machine } from "../support/machines.ts"
import { type SignedInPerson, signIn } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"
import { startTokenWorld, type TokenWorld } from "../support/token-world.ts"

const scopes = ["auth.delegation.write", "notes.read"]
const tenantId = newId("ten", 1, new Uint8Array(10).fill(3))
const asked = { audiences: ["svc-notes"], scopes: ["notes.read"] }

/** One owner per place: its administrator, its service and its policy. */
const places = ["the app", "a tenant", "another tenant", "another app"] as const
interface Owner {
  admin: SignedInPerson
  user: SignedInPerson
  machine: Machine
  policyId: string
}
let world: TokenWorld
const owners: Record<string, Owner> = {}

beforeAll(async () => {
  world = await startTokenWorld({ store: storyStore })
  const { server, clients } = world
  const otherApp = await addOtherApp(server)
  const client = { ...server.client, id: newId("pcl", 2, new Uint8Array(10).fill(2)), appId: otherApp.id }
  await server.deps.store.transaction((tx) => tx.apps.putProviderClient(client))
  const where = {
    "the app": {},
    "a tenant": { tenantId },
    "another tenant": { tenantId: newId("ten", 1, new Uint8Array(10).fill(4)) },
    "another app": { app: otherApp },
  }
  for (const place of places) {
    const at: { tenantId?: typeof tenantId; app?: typeof otherApp } = where[place]
    const admin = await signIn(server, clients, "the administrator", { scopes, ...at })
    const user = await signIn(server, clients, "a user", { scopes: ["notes.read"], ...at })
    const machine = await addMachine(server, { appId: at.app?.id ?? server.app.id, tenantId: at.tenantId ?? null })
    const of = { actorPrincipalId: machine.account.principalId, allowStanding: true }
    const { policy } = await clients.delegations.createDelegationPolicy({ ...asked, ...of }, bearer(admin.token))
    owners[place] = { admin, user, machine, policyId: policy?.id ?? "" }
  }
})
afterAll(() => world?.server.close())

const owner = (place: string): Owner => {
  const found = owners[place]
  if (found === undefined) throw new Error(place)
  return found
}
const pairs = places.flatMap((place) =>
  places.filter((other) => other !== place).map((other) => [place, other] as const),
)

describe.each(pairs)("an administrator of %s, with resources of %s", (place, other) => {
  const by = () => bearer(owner(place).admin.token)

  test("cannot let a service of that place act", async () => {
    const of = { ...asked, actorPrincipalId: owner(other).machine.account.principalId }
    expect(await refusal(world.clients.delegations.createDelegationPolicy(of, by()))).toBe(
      "InvalidArgument INVALID_FIELD",
    )
  })

  test("can neither list nor end its policies", async () => {
    const { delegations } = world.clients
    const { policyId } = owner(other)
    const { policies } = await delegations.listDelegationPolicies({}, by())
    const ids = policies.map(({ id }) => id)
    expect(ids).toContain(owner(place).policyId)
    expect(ids).not.toContain(policyId)
    expect(await refusal(delegations.revokeDelegationPolicy({ policyId }, by()))).toBe("NotFound NOT_FOUND")
    const left = await delegations.listDelegationPolicies({}, bearer(owner(other).admin.token))
    expect(left.policies.find(({ id }) => id === policyId)?.revokedAt).toBeUndefined()
  })

  test("can neither list nor end the delegations of its users", async () => {
    const { delegations } = world.clients
    const { policyId, user, admin } = owner(other)
    const { delegation } = await delegations.createDelegation({ ...asked, policyId }, bearer(user.token))
    const delegationId = delegation?.id ?? ""
    const own = owner(place).policyId
    const attempts = [
      delegations.listPolicyDelegations({ policyId }, by()),
      delegations.revokePolicyDelegation({ policyId, delegationId }, by()),
      // Under a policy that the caller does administer.
      delegations.revokePolicyDelegation({ policyId: own, delegationId }, by()),
    ]
    expect(await Promise.all(attempts.map((call) => refusal(call)))).toEqual(attempts.map(() => "NotFound NOT_FOUND"))
    const idsUnder = async (policyId: string, token: string) =>
      (await delegations.listPolicyDelegations({ policyId }, bearer(token))).delegations.map(({ id }) => id)
    expect(await idsUnder(own, owner(place).admin.token)).toEqual([])
    expect(await idsUnder(policyId, admin.token)).toEqual([delegationId])
    expect(await idsUnder("-", owner(place).admin.token)).toEqual([])
    expect(await idsUnder("-", admin.token)).toEqual([delegationId])
    await delegations.revokePolicyDelegation({ policyId, delegationId }, bearer(admin.token))
    expect(await idsUnder(policyId, admin.token)).toEqual([])
  })
})

// A policy of the whole app also covers its tenants.
describe.each(pairs.filter(([place, other]) => place === "another app" || other !== "the app"))(
  "a user of %s",
  (place, other) => {
    test(`cannot delegate under a policy of ${other}`, async () => {
      const { policyId } = owner(other)
      const given = world.clients.delegations.createDelegation({ ...asked, policyId }, bearer(owner(place).admin.token))
      expect(await refusal(given)).toBe("PermissionDenied DELEGATION_NOT_ALLOWED")
    })
  },
)

test("a user lists and revokes their delegations in this app only", async () => {
  const { delegations } = world.clients
  const by = (place: string) => bearer(owner(place).admin.token)
  const give = async (place: string) => {
    const { delegation } = await delegations.createDelegation({ ...asked, policyId: owner(place).policyId }, by(place))
    return delegation?.id ?? ""
  }
  const ids = { here: await give("the app"), there: await give("another app") }
  expect((await delegations.listDelegations({}, by("the app"))).delegations.map(({ id }) => id)).toEqual([ids.here])
  expect((await delegations.listDelegations({}, by("another app"))).delegations.map(({ id }) => id)).toEqual([
    ids.there,
  ])
  const taken = delegations.revokeDelegation({ delegationId: ids.there }, by("the app"))
  expect(await refusal(taken)).toBe("NotFound NOT_FOUND")
})

test("a user lists and revokes a personal access token in its own app only", async () => {
  const { pats } = world.clients
  const by = (place: string) => bearer(owner(place).admin.token)
  const made = { name: "cli", allowedAudiences: ["svc-notes"], scopes: ["notes.read"] }
  const { pat, token } = await pats.createPat(made, by("another app"))
  const patId = pat?.id ?? ""
  expect((await pats.listPats({}, by("the app"))).pats).toEqual([])
  expect(await refusal(pats.revokePat({ patId }, by("the app")))).toBe("NotFound NOT_FOUND")
  expect((await pats.exchangePat({ pat: token })).scopes).toEqual(["notes.read"])
  await pats.revokePat({ patId }, by("another app"))
  expect(await refusal(pats.exchangePat({ pat: token }))).toBe("Unauthenticated PAT_INVALID")
})

test("a tenant's policy does not cover the app, even if the request claims so", async () => {
  const actorPrincipalId = owner("a tenant").machine.account.principalId
  const named = { ...asked, actorPrincipalId, tenantId, allowStanding: true }
  const { delegations } = world.clients
  const { policy } = await delegations.createDelegationPolicy(named, bearer(owner("a tenant").admin.token))
  expect(policy?.tenantId).toBe(tenantId)
  const policyId = policy?.id ?? ""
  const given = await delegations.createDelegation({ ...asked, policyId }, bearer(owner("a tenant").admin.token))
  expect(given.delegation?.tenantId).toBe(tenantId)
  await delegations.revokeDelegationPolicy({ policyId }, bearer(owner("a tenant").admin.token))
  for (const place of ["the app", "another tenant"]) {
    const refused = delegations.createDelegationPolicy(named, bearer(owner(place).admin.token))
    expect(await refusal(refused)).toBe("PermissionDenied TENANT_MISMATCH")
  }
})

test("an administrator of a context neither reads nor changes the policies of the tenant around it", async () => {
  const { delegations } = world.clients
  const { machine, admin, policyId } = owner("a tenant")
  const contextId = newId("ctx", 1, new Uint8Array(10).fill(5))
  const inside = await signIn(world.server, world.clients, "an administrator inside", { scopes, tenantId, contextId })
  const by = bearer(inside.token)
  const refused = [
    delegations.listDelegationPolicies({}, by),
    delegations.createDelegationPolicy({ ...asked, actorPrincipalId: machine.account.principalId }, by),
    delegations.revokeDelegationPolicy({ policyId }, by),
    delegations.listPolicyDelegations({ policyId }, by),
    delegations.revokePolicyDelegation({ policyId, delegationId: `dlg_${"0".repeat(26)}` }, by),
  ]
  expect(await Promise.all(refused.map((call) => refusal(call)))).toEqual(
    refused.map(() => "PermissionDenied CONTEXT_MISMATCH"),
  )
  const { policies } = await delegations.listDelegationPolicies({}, bearer(admin.token))
  expect(policies.find(({ id }) => id === policyId)?.revokedAt).toBeUndefined()
})
