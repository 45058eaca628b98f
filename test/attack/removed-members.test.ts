// A member who was removed from a place, or left it, keeps nothing there and everything elsewhere.
import { Grant_Status } from "@signet/proto/auth/v1/grants"
import { Membership_Status } from "@signet/proto/auth/v1/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type AdministeredServer, startAdministeredServer } from "../support/administered-server.ts"
import { bearer, refusal } from "../support/clients.ts"
import { addMachine, addPolicy, basic, type Machine, postForm } from "../support/machines.ts"
import { type SignedInPerson, signIn } from "../support/people.ts"

const asked = { audiences: ["svc-notes"], scopes: ["notes.read"] }
let all: AdministeredServer
let machine: Machine
let policyId = ""
beforeAll(async () => {
  all = await startAdministeredServer()
  machine = await addMachine(all.server)
  policyId = (await addPolicy(all.server, machine, { ...asked, allowStanding: true })).id
})
afterAll(() => all?.server.close())

/** Creates a personal access token and a delegation at the place where the user is signed in. */
async function leave({ token }: SignedInPerson) {
  const { delegations, pats } = all.clients
  const made = { name: "laptop", allowedAudiences: asked.audiences, scopes: asked.scopes }
  const { pat, token: secret } = await pats.createPat(made, bearer(token))
  const { delegation } = await delegations.createDelegation({ ...asked, policyId }, bearer(token))
  const [patId = "", delegationId = ""] = [pat?.id, delegation?.id]
  return {
    ids: [patId, delegationId].toSorted(),
    /** Returns the answer of each. */
    async use() {
      const exchange = pats.exchangePat({ pat: secret })
      const exchanged = await exchange.then(
        () => "served",
        () => refusal(exchange),
      )
      const form = { audience: "svc-notes", scope: "notes.read", job_id: "nightly", delegation_id: delegationId }
      const answer = await postForm(
        `${all.server.url}/auth/token`,
        { ...form, grant_type: "on_behalf_of" },
        basic(machine),
      )
      return [exchanged, answer.status === 200 ? "served" : answer.body.reason]
    },
  }
}

const ways = {
  "was removed": ({ appId, membershipId }: { appId: string; membershipId: string }) =>
    all.clients.admin.removeMembership({ appId, membershipId }, all.world.as("admin")),
  left: ({ membershipId, token }: { membershipId: string; token: string }) =>
    all.clients.account.leaveMembership({ membershipId }, bearer(token)),
}

test.each(Object.entries(ways))(
  "a member who %s loses their personal access token and delegation there, also after a return",
  async (way, end) => {
    const { server, clients, world } = all
    const appId = world.app.id
    const [whole, inside] = [
      await signIn(server, clients, `who ${way}`, { app: world.app }),
      await signIn(server, clients, `who ${way}`, { app: world.app, tenantId: world.tenant.id }),
    ]
    const { principalId, token } = whole
    const [there, elsewhere] = [await leave(inside), await leave(whole)]
    const served = ["served", "served"]
    expect([await there.use(), await elsewhere.use()]).toEqual([served, served])

    const place = { appId, tenantId: world.tenant.id }
    const { role } = await clients.admin.createRole({ appId, role: { key: `keeper${way.length}` } }, world.as("root"))
    const roleId = role?.id ?? ""
    const { grant } = await clients.admin.createGrant({ appId, principalId, roleId }, world.as("root"))
    await clients.admin.createGrant({ ...place, principalId, roleId }, world.as("root"))
    const { memberships } = await clients.admin.listMemberships({ ...place, principalId }, world.as("root"))
    await end({ appId, token, membershipId: memberships[0]?.id ?? "" })
    const revoked = await server.store.db
      .selectFrom("revocation")
      .select("key")
      .where("key", "in", [...there.ids, ...elsewhere.ids])
      .execute()
    expect(revoked.map(({ key }) => key).toSorted()).toEqual(there.ids)
    const { grants } = await clients.admin.listGrants({ appId, principalId }, world.as("root"))
    expect(grants.filter(({ status }) => status === Grant_Status.ACTIVE).map(({ id }) => id)).toEqual([grant?.id])
    await clients.admin.archiveRole({ appId, roleId }, world.as("root"))

    const { membership } = await clients.admin.createMembership({ ...place, principalId }, world.as("root"))
    expect(membership?.status).toBe(Membership_Status.ACTIVE)
    expect(await there.use()).toEqual(["Unauthenticated PAT_INVALID", "DELEGATION_EXPIRED"])
    expect(await elsewhere.use()).toEqual(served)
  },
)
