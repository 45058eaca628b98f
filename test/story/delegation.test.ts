// Delegation: who may allow it, what a service gets, and how it ends.
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import { bearer, refusal } from "../support/clients.ts"
import { addMachine, basic } from "../support/machines.ts"
import { describeStory } from "../support/postgres.ts"
import { claimsOf, refused, startTokenWorld, type TokenWorld, type User } from "../support/token-world.ts"
import { untilWaiting } from "../support/waiting.ts"

describeStory("delegation", (kind) => {
  let world: TokenWorld
  let admin: User
  let user: User
  beforeAll(async () => {
    world = await startTokenWorld({ store: kind })
    user = await world.signIn()
    const first = await world.signIn("admin")
    await world.server.store.db
      .updateTable("membership")
      .set({ scopes: ["auth.delegation.write"] })
      .where("principal_id", "=", first.principalId)
      .execute()
    admin = await world.signIn("admin")
  })
  afterAll(() => world?.server.close())

  const as = (who: User) => bearer(who.tokens.auth ?? "")
  const policyOf = (actorPrincipalId: string, change = {}) => ({
    actorPrincipalId,
    audiences: ["svc-notes"],
    scopes: ["notes.read"],
    allowStanding: true,
    ...change,
  })
  const standing = (delegation_id: string, change = {}) =>
    world.token(
      {
        grant_type: "on_behalf_of",
        delegation_id,
        audience: "svc-notes",
        scope: "notes.read",
        job_id: "nightly",
        ...change,
      },
      basic(world.stranger),
    )

  test("an administrator allows a service to act, a user consents, and each can withdraw it", async () => {
    const { delegations } = world.clients
    const { policy } = await delegations.createDelegationPolicy(policyOf(world.stranger.account.principalId), as(admin))
    expect(policy).toMatchObject({ maxSeconds: 300, maxChain: 1, allowStanding: true, scopes: ["notes.read"] })
    const asked = { policyId: policy?.id ?? "", audiences: ["svc-notes"], scopes: ["notes.read"] }
    const { delegation } = await delegations.createDelegation(asked, as(user))
    const id = delegation?.id ?? ""

    const answer = await standing(id)
    expect(answer.body).toMatchObject({ scope: "notes.read", expires_in: 300 })
    expect(claimsOf(answer)).toMatchObject({ sub: user.principalId, cred_id: id, job_id: "nightly" })
    expect(claimsOf(answer)).not.toHaveProperty("osid")
    const token = String(answer.body.access_token)
    expect((await world.introspect(token)).body.active).toBe(true)
    expect(refused(await standing(id, { scope: "notes.write" }))).toBe("400 invalid_scope SCOPE_NOT_GRANTED")

    const mine = await delegations.listDelegations({}, as(user))
    expect(mine.delegations.map((each) => each.id)).toEqual([id])
    expect((await delegations.listDelegations({}, as(admin))).delegations).toEqual([])
    expect(await refusal(delegations.revokeDelegation({ delegationId: id }, as(admin)))).toBe("NotFound NOT_FOUND")

    await delegations.revokeDelegation({ delegationId: id }, as(user))
    await delegations.revokeDelegation({ delegationId: id }, as(user))
    expect((await world.introspect(token)).body).toEqual({ active: false })
    expect(refused(await standing(id))).toBe("400 invalid_grant DELEGATION_EXPIRED")

    const again = await delegations.createDelegation({ ...asked, expiresIn: 60 }, as(user))
    const brief = Number((await standing(again.delegation?.id ?? "")).body.expires_in)
    expect(brief > 50 && brief <= 60).toBe(true)
    await delegations.revokeDelegationPolicy({ policyId: asked.policyId }, as(admin))
    expect(refused(await standing(again.delegation?.id ?? ""))).toBe("400 access_denied DELEGATION_NOT_ALLOWED")
    expect(await refusal(delegations.createDelegation(asked, as(user)))).toBe("PermissionDenied DELEGATION_NOT_ALLOWED")
    const listed = await delegations.listDelegationPolicies({}, as(admin))
    expect(listed.policies.find((each) => each.id === asked.policyId)?.revokedAt).toBeDefined()
  })

  test("an administrator sees which users have consented, and stops the service for one of them", async () => {
    const { delegations } = world.clients
    const { policy } = await delegations.createDelegationPolicy(policyOf(world.stranger.account.principalId), as(admin))
    const policyId = policy?.id ?? ""
    const asked = { policyId, audiences: ["svc-notes"], scopes: ["notes.read"] }
    const other = await world.signIn("other")
    const ids: string[] = []
    for (const who of [user, other]) ids.push((await delegations.createDelegation(asked, as(who))).delegation?.id ?? "")
    const listed = async (pageToken = "") =>
      delegations.listPolicyDelegations({ policyId, pageSize: 1, pageToken }, as(admin))
    const first = await listed()
    expect(first.delegations).toMatchObject([{ id: ids[1], subjectPrincipalId: other.principalId, policyId }])
    const second = await listed(first.nextPageToken)
    expect(second.delegations).toMatchObject([{ id: ids[0], subjectPrincipalId: user.principalId }])
    expect(second.nextPageToken).toBe("")

    // Neither the subject nor another member sees the others'.
    for (const who of [user, other]) {
      expect(await refusal(delegations.listPolicyDelegations({ policyId }, as(who)))).toBe(
        "PermissionDenied MISSING_SCOPE",
      )
      const revoked = delegations.revokePolicyDelegation({ policyId, delegationId: ids[0] ?? "" }, as(who))
      expect(await refusal(revoked)).toBe("PermissionDenied MISSING_SCOPE")
    }

    const token = String((await standing(ids[0] ?? "")).body.access_token)
    const revoke = () => delegations.revokePolicyDelegation({ policyId, delegationId: ids[0] ?? "" }, as(admin))
    await revoke()
    await revoke()
    expect((await world.introspect(token)).body).toEqual({ active: false })
    expect(refused(await standing(ids[0] ?? ""))).toBe("400 invalid_grant DELEGATION_EXPIRED")
    expect((await standing(ids[1] ?? "")).body).toMatchObject({ scope: "notes.read" })
    expect((await listed()).delegations.map(({ id }) => id)).toEqual([ids[1]])
    const events = await world.server.store.db
      .selectFrom("audit_event")
      .select(["actor_principal_id", "subject_principal_id"])
      .where("kind", "=", "delegation.revoked")
      .where("target_id", "=", ids[0] ?? "")
      .execute()
    expect(events).toEqual([{ actor_principal_id: admin.principalId, subject_principal_id: user.principalId }])

    await delegations.revokeDelegationPolicy({ policyId }, as(admin))
    expect((await listed()).delegations).toEqual([])
  })

  test("only an administrator's session creates policies, within the scopes of service and app", async () => {
    const { delegations } = world.clients
    const actor = world.gateway.account.principalId
    const create = (change: object, who = admin) =>
      refusal(delegations.createDelegationPolicy(policyOf(actor, change), as(who)))
    expect(await create({}, user)).toBe("PermissionDenied MISSING_SCOPE")
    expect(await refusal(delegations.listDelegationPolicies({}, as(user)))).toBe("PermissionDenied MISSING_SCOPE")
    expect(await create({ audiences: ["auth"] })).toBe("InvalidArgument INVALID_FIELD")
    expect(await create({ audiences: ["svc-mail"] })).toBe("InvalidArgument INVALID_FIELD")
    expect(await create({ scopes: ["notes.none"] })).toBe("InvalidArgument INVALID_FIELD")
    expect(await create({ maxSeconds: 301 })).toBe("InvalidArgument INVALID_FIELD")
    expect(await create({ actorPrincipalId: user.principalId })).toBe("InvalidArgument INVALID_FIELD")
    expect(await create({ tenantId: `ten_${"0".repeat(26)}` })).toBe("PermissionDenied TENANT_MISMATCH")
  })

  test("an unknown policy or delegation is refused", async () => {
    const { delegations } = world.clients
    const policyId = `dpo_${"0".repeat(26)}`
    const delegationId = `dlg_${"0".repeat(26)}`
    expect(await refusal(delegations.revokeDelegationPolicy({ policyId }, as(admin)))).toBe("NotFound NOT_FOUND")
    expect(await refusal(delegations.revokeDelegation({ delegationId }, as(user)))).toBe("NotFound NOT_FOUND")
    const asked = { policyId, audiences: ["svc-notes"], scopes: ["notes.read"] }
    expect(await refusal(delegations.createDelegation(asked, as(user)))).toBe("PermissionDenied DELEGATION_NOT_ALLOWED")
  })

  test("a user consents to no more than the policy allows and the user holds", async () => {
    const { delegations } = world.clients
    const scopes = ["notes.read", "notes.admin"]
    const actor = await addMachine(world.server)
    const { policy } = await delegations.createDelegationPolicy(
      policyOf(actor.account.principalId, { scopes }),
      as(admin),
    )
    const asked = { policyId: policy?.id ?? "", audiences: ["svc-notes"] }
    for (const change of [
      { scopes },
      { scopes: ["notes.write"] },
      { scopes: ["notes.read"], audiences: ["svc-mail"] },
    ]) {
      expect(await refusal(delegations.createDelegation({ ...asked, ...change }, as(user)))).toBe(
        "InvalidArgument INVALID_FIELD",
      )
    }
    const closed = await delegations.createDelegationPolicy(
      policyOf(actor.account.principalId, { allowStanding: false }),
      as(admin),
    )
    const refusedStanding = delegations.createDelegation(
      { policyId: closed.policy?.id ?? "", audiences: ["svc-notes"], scopes: ["notes.read"] },
      as(user),
    )
    expect(await refusal(refusedStanding)).toBe("PermissionDenied DELEGATION_NOT_ALLOWED")
  })

  if (kind === "postgres") {
    test("a user who is removed at the same moment leaves no consent behind", async () => {
      const { delegations } = world.clients
      const { db } = world.server.store
      const leaving = await world.signIn()
      const { policy } = await delegations.createDelegationPolicy(
        policyOf(world.gateway.account.principalId),
        as(admin),
      )
      const given = await db.transaction().execute(async (trx) => {
        // Like a removal: the principal is locked, then its memberships end.
        await sql`select from principal where id = ${leaving.principalId} for update`.execute(trx)
        const asked = { policyId: policy?.id ?? "", audiences: ["svc-notes"], scopes: ["notes.read"] }
        const answer = refusal(delegations.createDelegation(asked, as(leaving)))
        await untilWaiting(db)
        await sql`update membership set status = 'REMOVED' where principal_id = ${leaving.principalId}`.execute(trx)
        return { answer }
      })
      expect(await given.answer).toBe("PermissionDenied MEMBERSHIP_INACTIVE")
    })
  }

  test("works over REST, with custom verbs", async () => {
    const call = async (method: string, path: string, who: User, body?: object) => {
      const response = await fetch(`${world.server.url}${path}`, {
        method,
        headers: { ...as(who).headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, body: text === "" ? {} : JSON.parse(text) }
    }
    const made = await call("POST", "/auth/delegation-policies", admin, policyOf(world.gateway.account.principalId))
    expect(made.body.policy.id).toMatch(/^dpo_/)
    const given = await call("POST", "/auth/delegations", user, {
      policyId: made.body.policy.id,
      audiences: ["svc-notes"],
      scopes: ["notes.read"],
    })
    const { id } = given.body.delegation
    expect((await call("GET", "/auth/delegations?pageSize=1", user)).body.delegations[0].id).toBe(id)
    expect((await call("POST", `/auth/delegations/${id}:revoke`, user)).status).toBe(204)
    expect((await call("POST", `/auth/delegations/${id}:destroy`, user)).status).toBe(404)
    expect((await call("POST", `/auth/delegation-policies/${made.body.policy.id}:revoke`, admin)).status).toBe(204)
  })
})
