// Joining an app: by an invitation, by canceling a deletion, and not by an unlinked account.

import type { Invitation } from "@signet/kernel/administration/records"
import {
  type ContextId,
  type IdentityId,
  type MembershipId,
  newId,
  type PrincipalId,
  type TenantId,
} from "@signet/kernel/ids"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { openPlace } from "../support/places.ts"
import { describeStory } from "../support/postgres.ts"
import { type Answer, type SignInWorld, startSignInWorld } from "../support/sign-in-world.ts"

describeStory("joining an app", (kind) => {
  let world: SignInWorld
  let tenantId: TenantId
  let host: PrincipalId
  beforeAll(async () => {
    world = await startSignInWorld({ store: kind })
    tenantId = fresh("ten")
    await openPlace(world.server.store.store, { appId: world.app.id, tenantId, contextId: null })
    host = (await world.signInA("host")).principal?.id as PrincipalId
  })
  afterAll(() => world?.close())

  const { now } = Date
  const fresh = <K extends "ten" | "inv" | "ctx" | "mem">(of: K) => newId(of, now(), world.server.deps.random.bytes(10))
  async function invite(change: Partial<Invitation> = {}): Promise<string> {
    const code = buildOpaque("sginv_", world.server.deps.random)
    const nowMs = world.server.deps.clock.nowMs()
    const invitation: Invitation = {
      id: fresh("inv"),
      appId: world.app.id,
      tenantId: null,
      contextId: null,
      principalId: null,
      codeHash: world.server.secrets.hash("invitation", code),
      scopes: [],
      invitedBy: host,
      status: "PENDING",
      createdAtMs: nowMs,
      expiresAtMs: nowMs + 60_000,
      answeredAtMs: null,
      membershipId: null,
      ...change,
    }
    await world.server.store.store.transaction((tx) => tx.invitations.insert(invitation))
    return code
  }
  const claimsOf = ({ accessToken = "" }: Answer): { scp?: string[]; tenant_id?: string } =>
    JSON.parse(Buffer.from(accessToken.split(".")[1] ?? "", "base64url").toString())

  describe("that allows no sign-up", () => {
    beforeEach(() => world.changeApp(world.app, { signupEnabled: false }))
    afterEach(() => world.changeApp(world.app, {}))

    test("requires an invitation, and is refused with a hint for existing members", async () => {
      const refused = await world.signInA("uninvited")
      expect(refused).toMatchObject({
        status: 403,
        reason: "SIGNUP_DISABLED",
        detail: expect.stringMatching(/sign in as usual, then link/),
        metadata: { instead: "sign_in_and_link" },
      })
      const code = await invite()
      expect(await world.signInA("uninvited", { body: { invitationCode: code } })).toMatchObject({ created: true })
      expect((await world.signInA("uninvited")).status).toBe(200)
    })

    test("by one code admits one of two who use it at the same time", async () => {
      const invitationCode = await invite()
      const answers = await Promise.all(
        ["one", "two", "three"].map((who) => world.signInA(`race ${who}`, { body: { invitationCode } })),
      )
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 403, 403])
      expect(answers.flatMap(({ reason }) => reason ?? [])).toEqual(["INVITATION_INVALID", "INVITATION_INVALID"])
      const joined = await Promise.all(["one", "two", "three"].map((who) => world.signInA(`race ${who}`)))
      expect(joined.filter(({ status }) => status === 200).length).toBe(1)
    })

    test("works for a person of another app, too", async () => {
      const there = await world.signInA("of draw", { app: world.otherApp })
      const here = await world.signInA("of draw", { body: { invitationCode: await invite() } })
      expect(here.identity?.id).toBe(there.identity?.id)
    })
  })

  test("grants the invitation's scopes and tenant membership", async () => {
    const invitationCode = await invite({ tenantId, scopes: ["notes.admin"] })
    const audiences = ["svc-notes"]
    const answer = await world.signInB("tenant guest", { body: { invitationCode, tenantId, audiences } })
    expect(answer).toMatchObject({ status: 200, created: true, membership: { tenantId } })
    expect(claimsOf(answer)).toMatchObject({ tenant_id: tenantId })
    expect(claimsOf(answer).scp).toContain("notes.admin")
    const outside = await world.signInB("tenant guest", { body: { audiences } })
    expect(claimsOf(outside).scp).not.toContain("notes.admin")
  })

  describe("a context without a tenant", () => {
    const audiences = ["svc-notes"]
    let contextId: ContextId
    beforeAll(async () => {
      contextId = fresh("ctx")
      await openPlace(world.server.store.store, { appId: world.app.id, tenantId: null, contextId })
    })

    test("by an invitation makes a member of the app, too, with the invitation's scopes in the context only", async () => {
      const invitationCode = await invite({ contextId, scopes: ["notes.admin"] })
      const outside = await world.signInA("context guest", { body: { invitationCode, audiences } })
      expect(outside).toMatchObject({ status: 200, created: true })
      expect(outside.membership).not.toMatchObject({ contextId })
      expect(claimsOf(outside).scp).not.toContain("notes.admin")
      const inside = await world.signInA("context guest", { body: { contextId, audiences } })
      expect(inside).toMatchObject({ status: 200, membership: { contextId } })
      expect(claimsOf(inside).scp).toContain("notes.admin")
    })

    test("is refused to a member of the app only", async () => {
      await world.signInA("no context guest")
      const answer = await world.signInA("no context guest", { body: { contextId } })
      expect(answer.reason).toBe("MEMBERSHIP_INACTIVE")
    })
  })

  test("an invitation to a tenant grants its scopes there, and not in the tenant's contexts", async () => {
    const contextId = fresh("ctx")
    await openPlace(world.server.store.store, { appId: world.app.id, tenantId, contextId })
    const { principal } = await world.signInA("inner guest")
    const principalId = principal?.id as PrincipalId
    await world.server.store.store.transaction(async (tx) => {
      const [own] = await tx.identities.findMemberships(principalId, world.app.id)
      if (own === undefined) throw new Error("no membership")
      await tx.identities.insertMembership({ ...own, id: fresh("mem"), tenantId, contextId })
    })
    const invitationCode = await invite({ tenantId, scopes: ["notes.admin"] })
    const body = { invitationCode, tenantId, contextId, audiences: ["svc-notes"] }
    const inside = await world.signInA("inner guest", { body })
    expect(inside).toMatchObject({ status: 200, membership: { tenantId, contextId } })
    expect(claimsOf(inside).scp).not.toContain("notes.admin")
  })

  test.each(["ACTIVE", "REQUESTED"] as const)(
    "with a membership that is %s adds the invitation's scopes",
    async (status) => {
      const who = `${status} guest`
      const audiences = ["svc-notes"]
      const first = await world.signInA(who, {
        body: { invitationCode: await invite({ tenantId }), tenantId, audiences },
      })
      expect(claimsOf(first).scp).not.toContain("notes.admin")
      const of = world.server.store.db.updateTable("membership").where("id", "=", first.membership?.id as MembershipId)
      await of.set({ status }).execute()
      const invitationCode = await invite({ tenantId, scopes: ["notes.admin"] })
      const again = await world.signInA(who, { body: { invitationCode, tenantId, audiences } })
      expect(again).toMatchObject({ status: 200, membership: { id: first.membership?.id } })
      expect(claimsOf(again).scp).toContain("notes.admin")
    },
  )

  test.each<[string, () => Promise<string>]>([
    ["that does not exist", async () => buildOpaque("sginv_", world.server.deps.random)],
    ["that is malformed", async () => "hello"],
    ["that has expired", () => invite({ expiresAtMs: world.server.deps.clock.nowMs() })],
    ["that was revoked", () => invite({ status: "REVOKED", answeredAtMs: 1 })],
    ["for another principal", () => invite({ principalId: host })],
    ["of another app", () => invite({ appId: world.otherApp.id })],
  ])("by a code %s is refused, also where sign-up is open", async (what, code) => {
    const invitationCode = await code()
    expect((await world.signInA(`code ${what}`, { body: { invitationCode } })).reason).toBe("INVITATION_INVALID")
    expect((await world.signInA(`code ${what}`)).created).toBe(true)
  })

  test("does not bypass a suspension", async () => {
    const { principal } = await world.signInA("suspended")
    const { db } = world.server.store
    await db
      .updateTable("membership")
      .set({ status: "SUSPENDED" })
      .where("principal_id", "=", principal?.id as PrincipalId)
      .execute()
    const invitationCode = await invite()
    expect((await world.signInA("suspended", { body: { invitationCode } })).reason).toBe("MEMBERSHIP_INACTIVE")
    expect((await world.signInA("not suspended", { body: { invitationCode } })).status).toBe(200)
  })

  test("in a suspended tenant is refused until it is active", async () => {
    const store = world.server.store.store
    const suspendedId = fresh("ten")
    await openPlace(store, { appId: world.app.id, tenantId: suspendedId, contextId: null })
    const invitationCode = await invite({ tenantId: suspendedId })
    await store.transaction(async (tx) => {
      const tenant = await tx.tenants.lock(suspendedId)
      if (tenant) await tx.tenants.update({ ...tenant, status: "SUSPENDED" })
    })
    expect((await world.signInA("waits", { body: { invitationCode } })).reason).toBe("TENANT_SUSPENDED")
  })

  describe("an identity that is about to be deleted", () => {
    async function leaving(subject: string): Promise<Answer> {
      const answer = await world.signInA(subject)
      const set = { status: "DELETION_PENDING", deletes_at: new Date(now() + 86_400_000) } as const
      const { db } = world.server.store
      await db
        .updateTable("identity")
        .set(set)
        .where("id", "=", answer.identity?.id as IdentityId)
        .execute()
      return answer
    }

    test("is not restored by a sign-in alone", async () => {
      await leaving("leaves")
      expect(await world.signInA("leaves")).toMatchObject({ status: 403, reason: "IDENTITY_DELETION_PENDING" })
    })

    test("is restored on explicit request", async () => {
      const before = await leaving("stays")
      await world.audited()
      const after = await world.signInA("stays", { body: { cancelDeletion: true } })
      expect(after.identity).toMatchObject({ id: before.identity?.id, status: "ACTIVE" })
      expect((await world.audited()).map((event) => event.kind)).toContain("identity.deletion_canceled")
      expect((await world.signInA("stays")).status).toBe(200)
    })
  })

  test("by an unlinked account creates no second identity, and the refusal says what to do", async () => {
    const { identity } = await world.signInA("given up")
    const { db } = world.server.store
    await db
      .updateTable("provider_account")
      .set({ status: "UNLINKED" })
      .where("identity_id", "=", identity?.id as IdentityId)
      .execute()
    const refused = await world.signInA("given up", { body: { invitationCode: await invite() } })
    await world.changeApp(world.app, { signupEnabled: false })
    const stranger = await world.signInA("never seen")
    await world.changeApp(world.app, {})
    const told = ({ status, reason, detail, metadata }: Answer) => ({ status, reason, detail, metadata })
    expect(told(refused)).toEqual(told(stranger))
    expect(refused.detail).toMatch(/sign in as usual, then link/)
  })
})
