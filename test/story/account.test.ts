// A user's own account: ways of signing in, invitations, memberships, export and deletion.

import { parseId } from "@signet/kernel/ids"
import { Platform, Provider } from "@signet/proto/auth/v1/records"
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { addInvitation } from "../support/invitations.ts"
import { openPlace } from "../support/places.ts"
import { describeStory } from "../support/postgres.ts"
import { type Answer, password, type SignInWorld, startSignInWorld } from "../support/sign-in-world.ts"
import { untilWaiting } from "../support/waiting.ts"

const fiveMinutes = 300_000
const web = { platform: Platform.WEB, nonce: "n-1" }

describeStory("an account", (kind) => {
  let world: SignInWorld
  let clients: Clients
  let uses = 0
  beforeAll(async () => {
    world = await startSignInWorld({ store: kind })
    const over = protocols["Connect JSON over HTTP/1.1"]
    if (over === undefined) throw new Error("no such protocol")
    clients = clientsOver(over(world.server.url))
  })
  afterAll(() => world?.close())

  const as = ({ accessToken = "" }: Answer) => bearer(accessToken)
  const idTokenA = async (subject: string) => {
    const { clientId } = await world.clientOf(world.app.id, "IDP_A", "WEB")
    const claims = { sub: subject, aud: clientId, azp: clientId, jti: `link-${++uses}` }
    return world.server.idp.mint({ claims })
  }
  const idTokenB = async (subject: string) => {
    const { clientId } = await world.clientOf(world.app.id, "IDP_B", "WEB")
    return world.idpB.mint({ platform: "WEB", claims: { sub: subject, aud: clientId, jti: `link-${++uses}` } })
  }
  const linkA = async (who: Answer, subject: string) =>
    clients.account.linkProviderAccount(
      { ...web, provider: Provider.IDP_A, credential: { case: "idToken", value: await idTokenA(subject) } },
      as(who),
    )
  const linkB = async (who: Answer, subject: string) =>
    clients.account.linkProviderAccount(
      { ...web, provider: Provider.IDP_B, credential: { case: "idToken", value: await idTokenB(subject) } },
      as(who),
    )
  const linkC = (who: Answer, email: string, typed = password) =>
    clients.account.linkProviderAccount(
      {
        platform: Platform.WEB,
        provider: Provider.IDP_C,
        credential: { case: "emailPassword", value: { email, password: typed } },
      },
      as(who),
    )
  const unlink = (who: Answer, providerAccountId = "") =>
    clients.account.unlinkProviderAccount({ providerAccountId }, as(who))
  const kinds = async () => (await world.audited()).map(({ kind, reason }) => (reason ? `${kind} ${reason}` : kind))

  test.runIf(isLong)("is found by each linked way of signing in, and each token proves one link", async () => {
    await world.idpC.addPerson({ email: "lin@example.com", password, isConfirmed: true })
    const lin = await world.signInA("lin")
    await kinds()
    const { providerAccount } = await linkB(lin, "lin-at-b")
    expect(providerAccount?.identityId).toBe(lin.identity?.id)
    expect(await kinds()).toEqual(["provider_account.linked"])
    expect(await refusal(linkC(lin, "lin@example.com", "wrong"))).toBe("Unauthenticated INVALID_CREDENTIALS")
    await linkC(lin, "lin@example.com")
    const byB = await world.signInB("lin-at-b")
    const byC = await world.signInC("lin@example.com")
    expect([byB.identity?.id, byC.identity?.id]).toEqual([lin.identity?.id, lin.identity?.id])
    const { providerAccounts } = await clients.account.listProviderAccounts({}, as(byB))
    expect(providerAccounts.map(({ provider }) => provider)).toEqual([Provider.IDP_A, Provider.IDP_B, Provider.IDP_C])

    const value = await idTokenA("lin-again")
    const request = { ...web, provider: Provider.IDP_A, credential: { case: "idToken" as const, value } }
    const both = await Promise.allSettled([1, 2].map(() => clients.account.linkProviderAccount(request, as(lin))))
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
    expect(await refusal(clients.account.linkProviderAccount(request, as(lin)))).toContain("PROVIDER_TOKEN_REPLAYED")
  })

  test("is linked by a requested magic link, once", async () => {
    await world.idpC.addPerson({ email: "mag@example.com", password, isConfirmed: true })
    const mag = await world.signInA("mag")
    expect(mag.identity?.primaryEmail).toBeUndefined()
    await world.startLink("mag@example.com")
    const linking = () =>
      clients.account.linkProviderAccount(
        {
          platform: Platform.WEB,
          provider: Provider.IDP_C,
          credential: { case: "magicLinkTokenHash", value: world.linkOf("mag@example.com") },
        },
        as(mag),
      )
    expect((await linking()).providerAccount?.email).toBe("mag@example.com")
    expect(await refusal(linking())).toBe("Unauthenticated MAGIC_LINK_INVALID")
    // The confirmed address becomes the contact address of a person without one.
    expect((await world.signInA("mag")).identity?.primaryEmail).toBe("mag@example.com")
  })

  test("of another user stays linked to that user, and the attempt is audited", async () => {
    const email = { email: "same@example.com", email_verified: true }
    const owner = await world.signInA("owner", { claims: email })
    const thief = await world.signInB("thief", { claims: email })
    expect(thief.identity?.id).not.toBe(owner.identity?.id)
    await kinds()
    expect(await refusal(linkA(thief, "owner"))).toBe("AlreadyExists PROVIDER_ACCOUNT_IN_USE")
    expect(await kinds()).toEqual(["provider_account.conflict PROVIDER_ACCOUNT_IN_USE"])
    expect((await world.signInA("owner")).identity?.id).toBe(owner.identity?.id)
    const back = await linkA(owner, "owner")
    expect(back.providerAccount?.identityId).toBe(owner.identity?.id)
    expect(await kinds()).not.toContain("provider_account.linked")
  })

  test("is linked to one of two users who prove it at the same time", async () => {
    const [one, two] = [await world.signInA("race-1"), await world.signInA("race-2")]
    const results = await Promise.allSettled([linkB(one, "wanted"), linkB(two, "wanted")])
    expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
  })

  if (kind === "postgres") {
    test("is created again when its owner is erased at the same moment", async () => {
      const { db } = world.server.store
      const [erased, heir] = [await world.signInA("erased"), await world.signInB("heir")]
      const rows = db
        .selectFrom("provider_account")
        .select("id")
        .where("identity_id", "=", (erased.identity?.id ?? "") as never)
      const { id } = await rows.executeTakeFirstOrThrow()
      const linked = await db.transaction().execute(async (trx) => {
        await sql`update provider_account set status = 'UNLINKED', subject = 'deleted:' || id where id = ${id}`.execute(
          trx,
        )
        const linking = linkA(heir, "erased")
        linking.catch(() => undefined)
        await untilWaiting(db)
        return { linking }
      })
      const { providerAccount } = await linked.linking
      expect(providerAccount?.id).not.toBe(id)
      expect((await world.signInA("erased")).identity?.id).toBe(heir.identity?.id)
    })

    test("signs in its current owner when the owner changes at the same moment", async () => {
      const { db } = world.server.store
      const [before, after] = [await world.signInA("handed on"), await world.signInB("new owner")]
      const rows = db
        .selectFrom("provider_account")
        .select("id")
        .where("identity_id", "=", (before.identity?.id ?? "") as never)
      const { id } = await rows.executeTakeFirstOrThrow()
      const handed = await db.transaction().execute(async (trx) => {
        await sql`update provider_account set identity_id = ${after.identity?.id} where id = ${id}`.execute(trx)
        const answer = world.signInA("handed on")
        await untilWaiting(db)
        return { answer }
      })
      expect((await handed.answer).identity?.id).toBe(after.identity?.id)
    })

    test("is not linked by a client that is disabled at the same moment", async () => {
      const who = await world.signInB("too late to link")
      const client = await world.clientOf(world.app.id, "IDP_A", "WEB")
      const off = await world.server.store.store.transaction(async (tx) => {
        await tx.administration.lockProviderClient(client.id)
        const answer = refusal(linkA(who, "too late at a"))
        await untilWaiting(world.server.store.db)
        await tx.apps.putProviderClient({ ...client, status: "DISABLED" })
        return { answer }
      })
      const answer = await off.answer
      await world.changeClient(client, {})
      expect(answer).toBe("PermissionDenied PROVIDER_DISABLED")
    })
  }

  test.runIf(isLong)("loses a way of signing in with its sessions, but never the last one", async () => {
    const una = await world.signInA("una")
    const { providerAccounts } = await clients.account.listProviderAccounts({}, as(una))
    const first = providerAccounts[0]?.id ?? ""
    expect(await refusal(unlink(una, first))).toBe("FailedPrecondition LAST_LOGIN_METHOD")
    const { providerAccount } = await linkB(una, "una-at-b")
    const byB = await world.signInB("una-at-b")
    const stranger = await world.signInA("stranger")
    expect(await refusal(unlink(stranger, first))).toBe("NotFound NOT_FOUND")
    // The audit of the stranger does not name the account.
    const rows = await world.server.store.db
      .selectFrom("audit_event")
      .select(["reason", "target_id"])
      .where("kind", "=", "provider_account.unlinked")
      .where("subject_identity_id", "=", (stranger.identity?.id ?? "") as never)
      .execute()
    expect(rows).toEqual([{ reason: "NOT_FOUND", target_id: null }])
    expect((await unlink(byB, first)).providerAccount?.status).toBe(4)
    expect((await unlink(byB, first)).providerAccount?.status).toBe(4)
    expect(await refusal(clients.account.listProviderAccounts({}, as(una)))).toBe("Unauthenticated SESSION_REVOKED")
    expect(await refusal(unlink(byB, providerAccount?.id))).toBe("FailedPrecondition LAST_LOGIN_METHOD")
    expect((await world.signInA("una")).reason).toBe("SIGNUP_DISABLED")
    // The unlinked account belongs to the next user who proves it.
    const heir = await world.signInB("heir")
    expect((await linkA(heir, "una")).providerAccount?.identityId).toBe(heir.identity?.id)
    expect((await world.signInA("una")).identity?.id).toBe(heir.identity?.id)
  })

  test("keeps one of two ways of signing in that are unlinked at the same time", async () => {
    const duo = await world.signInA("duo")
    const { providerAccount } = await linkB(duo, "duo-at-b")
    const { providerAccounts } = await clients.account.listProviderAccounts({}, as(duo))
    const ids = [providerAccounts[0]?.id, providerAccount?.id]
    await Promise.allSettled(ids.map((id) => unlink(duo, id)))
    const [byA, byB] = [await world.signInA("duo"), await world.signInB("duo-at-b")]
    expect([byA.status, byB.status].toSorted()).toEqual([200, 403])
  })

  test("is changed only after a recent sign-in, and never by an ended session", async () => {
    const old = await world.signInA("old")
    world.server.advance(fiveMinutes + 40_000)
    const stale = "PermissionDenied STEP_UP_REQUIRED"
    expect(await refusal(linkB(old, "old-at-b"))).toBe(stale)
    expect(await refusal(unlink(old, "pac_00000000000000000000000000"))).toBe(stale)
    expect(await refusal(clients.account.exportIdentity({}, as(old)))).toBe(stale)
    expect(await refusal(clients.account.requestIdentityDeletion({}, as(old)))).toBe(stale)
    const gone = await world.signInA("old")
    await clients.auth.logoutAll({}, as(gone))
    expect(await refusal(linkB(gone, "old-at-b"))).toBe("Unauthenticated SESSION_REVOKED")
  })

  test("accepts an invitation once, and declines one that names it", async () => {
    const [ivy, eve] = [await world.signInA("ivy"), await world.signInA("eve")]
    const open = await addInvitation(world.server, { scopes: ["notes.admin"] })
    const accept = (who: Answer, code: string) => clients.account.acceptInvitation({ code }, as(who))
    const took = await Promise.allSettled([accept(ivy, open.code), accept(eve, open.code)])
    expect(took.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
    expect(await refusal(accept(eve, open.code))).toBe("PermissionDenied INVITATION_INVALID")
    expect(await refusal(accept(eve, "sginv_nothing"))).toBe("PermissionDenied INVITATION_INVALID")

    const principalId = parseId("prn", ivy.principal?.id ?? "") ?? null
    const own = await addInvitation(world.server, { principalId })
    const decline = (who: Answer) => clients.account.declineInvitation({ code: own.code }, as(who))
    expect(await refusal(accept(eve, own.code))).toBe("PermissionDenied INVITATION_INVALID")
    expect(await refusal(decline(eve))).toBe("PermissionDenied INVITATION_INVALID")
    await decline(ivy)
    expect(await refusal(accept(ivy, own.code))).toBe("PermissionDenied INVITATION_INVALID")
    const late = await addInvitation(world.server, {})
    world.server.advance(8 * 86_400_000)
    const back = await world.signInA("ivy")
    expect(await refusal(accept(back, late.code))).toBe("PermissionDenied INVITATION_INVALID")
  })

  test("requests a membership where requests are allowed, and leaves with all dependent memberships", async () => {
    const meg = await world.signInA("meg")
    const tenantId = parseId("ten", "ten_00000000000000000000000001") ?? null
    await openPlace(world.server.deps.store, { appId: world.app.id, tenantId, contextId: null })
    const ask = (id: string) => clients.account.requestMembership({ tenantId: id }, as(meg))
    expect(await refusal(ask("ten_00000000000000000000000009"))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    expect(await refusal(ask(""))).toBe("InvalidArgument INVALID_FIELD")
    const { membership } = await ask(tenantId ?? "")
    expect(membership?.status).toBe(2)
    expect(await refusal(ask(tenantId ?? ""))).toBe("AlreadyExists ALREADY_EXISTS")
    const leave = (who: Answer, membershipId = "") => clients.account.leaveMembership({ membershipId }, as(who))
    const other = await world.signInA("not-meg")
    expect(await refusal(leave(other, membership?.id))).toBe("NotFound NOT_FOUND")
    expect(await refusal(leave(meg, "mem_00000000000000000000000009"))).toBe("NotFound NOT_FOUND")
    expect(await refusal(unlink(meg, "pac_00000000000000000000000009"))).toBe("NotFound NOT_FOUND")
    expect((await leave(meg, membership?.id)).membership?.status).toBe(5)
    expect((await leave(meg, membership?.id)).membership?.status).toBe(5)
    const contextId = parseId("ctx", "ctx_00000000000000000000000001") ?? null
    await openPlace(world.server.deps.store, { appId: world.app.id, tenantId: null, contextId })
    const inContext = await clients.account.requestMembership({ contextId: contextId ?? "" }, as(meg))
    expect(inContext.membership).toMatchObject({ contextId, tenantId: "", status: 2 })
    await ask(tenantId ?? "")
    await leave(meg, meg.membership?.id)
    expect(await refusal(clients.account.listProviderAccounts({}, as(meg)))).toContain("Unauthenticated")
    expect((await world.signInA("meg")).reason).toBe("MEMBERSHIP_INACTIVE")
  })

  test("exports its own data of all apps, and no data of others", async () => {
    const exa = await world.signInA("exa")
    await world.signInA("exa", { app: world.otherApp })
    await world.signInA("exb")
    await kinds()
    const out = await clients.account.exportIdentity({}, as(exa))
    expect(await kinds()).toEqual(["identity.exported"])
    expect(out.identity?.id).toBe(exa.identity?.id)
    expect(out.memberships.map(({ appId }) => appId).toSorted()).toEqual([world.app.id, world.otherApp.id].toSorted())
    expect(out.sessions.length).toBe(2)
    expect(out.providerAccounts.map(({ subject }) => subject)).toEqual(["exa"])
    const rest = await fetch(`${world.server.url}/auth/account/export`, as(exa))
    expect(rest.headers.get("cache-control")).toBe("no-store")
    expect(await rest.text()).not.toMatch(/hash\w*":|sgrt_|sgpat_/i)
  })

  test("is deleted after fourteen days, and can be restored until then", async () => {
    const dee = await world.signInA("dee")
    const { identity, deletesAt } = await clients.account.requestIdentityDeletion({}, as(dee))
    expect(identity?.status).toBe(2)
    const inDays = (Number(deletesAt?.seconds) * 1_000 - world.server.deps.clock.nowMs()) / 86_400_000
    expect(Math.round(inDays)).toBe(14)
    expect(await refusal(clients.account.listProviderAccounts({}, as(dee)))).toContain("Unauthenticated")
    expect((await world.signInA("dee")).reason).toBe("IDENTITY_DELETION_PENDING")
    expect((await world.signInA("dee", { body: { cancelDeletion: true } })).identity?.id).toBe(dee.identity?.id)
  })
})
