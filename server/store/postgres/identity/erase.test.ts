import type { PrincipalId } from "@signet/kernel/ids"
import type { Store } from "@signet/kernel/ports"
import { delegation, delegationPolicy } from "@signet/kernel/testing/machine-records"
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { newAudit } from "../messaging/testing/world.ts"
import { newGrant, newInvitation, newRole } from "../testing/administration.ts"
import { newPat, putService } from "../testing/machines.ts"
import { app, freshId, newPerson, newSession, newToken, putApp, putPerson } from "../testing/people.ts"

const mark = "personal-mark"

describeOnEachStore("the deletion of an identity", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  /** A person whose personal fields all contain the mark. */
  async function putMarked() {
    const { identity, account, principal, membership } = newPerson()
    const person = {
      identity: {
        ...identity,
        status: "DELETION_PENDING" as const,
        deletesAtMs: 4_000,
        primaryEmail: `${mark}@a.example`,
      },
      account: {
        ...account,
        subject: `${mark} ${account.id}`,
        providerTenant: mark,
        email: `${mark}@b.example`,
        refreshTokenSealed: new TextEncoder().encode(mark),
      },
      principal,
      membership: { ...membership, profile: { name: mark, email: `${mark}@c.example` } },
    }
    const device = { deviceId: mark, label: mark, os: mark, appVersion: mark }
    const session = newSession(person, { device, userAgent: mark })
    const ended = newSession(person, {
      device,
      userAgent: mark,
      status: "REVOKED",
      revokedAtMs: 2,
      revokeReason: "logout",
    })
    const token = newToken(session)
    const pat = newPat(person, { name: mark })
    const service = await putService(store)
    const policy = { ...delegationPolicy, id: freshId("dpo"), actorPrincipalId: service.principal.id }
    const standing = {
      ...delegation,
      id: freshId("dlg"),
      policyId: policy.id,
      subjectPrincipalId: principal.id,
      actorPrincipalId: service.principal.id,
    }
    const before = { ...standing, id: freshId("dlg"), revokedAtMs: 3 }
    const role = newRole()
    const grant = newGrant({ principalId: principal.id, roleId: role.id, reason: mark })
    const lost = { ...grant, id: freshId("grt"), status: "REVOKED" as const, revokedAtMs: 3 }
    const [offered, given, taken] = [
      newInvitation({ principalId: principal.id }),
      newInvitation({ invitedBy: principal.id }),
      newInvitation({ principalId: principal.id, status: "ACCEPTED", answeredAtMs: 3 }),
    ]
    await putPerson(store, { ...person, identity })
    await store.transaction(async (tx) => {
      await tx.accounts.updateIdentity(person.identity)
      await tx.accounts.updateAccount(person.account)
      for (const each of [session, ended]) await tx.sessions.insert(each)
      await tx.refreshTokens.insert(token)
      await tx.pats.insert(pat)
      await tx.delegations.insertPolicy(policy)
      for (const each of [standing, before]) await tx.delegations.insertDelegation(each)
      await tx.roles.insert(role)
      for (const each of [grant, lost]) await tx.grants.insert(each)
      for (const each of [offered, given, taken]) await tx.invitations.insert(each)
    })
    return { ...person, session, ended, token, pat, standing, before, grant, lost, offered, given, taken }
  }

  /** The rows of a person, as they are stored. */
  const rowsOf = ({ identity, ...of }: Awaited<ReturnType<typeof putMarked>>) =>
    store.transaction(async (tx) => ({
      identity: await tx.accounts.lockIdentity(identity.id),
      principal: await tx.principals.lock(of.principal.id),
      account: await tx.accounts.lockAccount(of.account.id),
      membership: await tx.members.find(of.membership.id),
      sessions: [await tx.sessions.find(of.session.id), await tx.sessions.find(of.ended.id)],
      token: await tx.refreshTokens.find([of.token.tokenHash]),
      pat: await tx.pats.lock(of.pat.id),
      delegations: [
        await tx.delegations.findDelegation(of.standing.id),
        await tx.delegations.findDelegation(of.before.id),
      ],
      grants: [await tx.grants.find(of.grant.id), await tx.grants.find(of.lost.id)],
      invitations: await Promise.all([of.offered, of.given, of.taken].map(({ id }) => tx.invitations.lock(id))),
      authority: (await tx.authorities.find(of.principal.id, app.id)).principal,
    }))

  /** The number of rows in each table of the database that contain the mark. */
  async function marked(): Promise<Record<string, number>> {
    const tables = await sql<{ name: string }>`
      select table_name as name from information_schema.tables where table_schema = 'public' order by 1`.execute(
      opened.db,
    )
    const found: Record<string, number> = {}
    const pattern = `%${mark}%`
    const sealed = `%${Buffer.from(mark).toString("hex")}%`
    for (const { name } of tables.rows) {
      const { rows } = await sql`
        select 1 from ${sql.table(name)} as t where row_to_json(t)::text like ${pattern} or row_to_json(t)::text like ${sealed}`.execute(
        opened.db,
      )
      if (rows.length > 0) found[name] = rows.length
    }
    return found
  }

  test("ends the blocks of the person, and of others against the person", async () => {
    const person = await putMarked()
    const { blocks } = opened.messaging
    const place = { appId: app.id, tenantId: null }
    const gone = person.principal.id
    const [other, third] = [freshId("prn"), freshId("prn")]
    const block = (userId: PrincipalId, blocked: PrincipalId) =>
      blocks.change({ userId, place, change: { userId: blocked, isBlocked: true } }, newAudit("user.blocked"))
    await block(gone, other)
    for (const blocked of [gone, third]) await block(other, blocked)
    await block(third, other)
    await store.transaction((tx) => tx.accounts.erase(person.identity.id, 5_000))
    expect(await blocks.ofUser(gone, place)).toEqual({ version: 0n, userIds: [] })
    expect(await blocks.ofUser(other, place)).toEqual({ version: 3n, userIds: [third] })
    expect(await blocks.ofUser(third, place)).toEqual({ version: 1n, userIds: [other] })
  })

  test("leaves only the person's ids, and revokes all credentials", async () => {
    const bystander = await putMarked()
    const stays = await rowsOf(bystander)
    const ofOne = await marked()
    expect(ofOne).toEqual({ identity: 1, membership: 1, pat: 1, provider_account: 1, role_grant: 2, session: 2 })
    const person = await putMarked()
    await store.transaction((tx) => tx.accounts.erase(person.identity.id, 5_000))
    expect(await marked()).toEqual(ofOne)
    expect(await rowsOf(bystander)).toStrictEqual(stays)

    await store.transaction(async (tx) => {
      const { identity, account, principal, membership, session, ended, pat, standing, grant } = person
      expect(await tx.accounts.lockIdentity(identity.id)).toStrictEqual({
        ...identity,
        status: "DELETED",
        primaryEmail: null,
        deletesAtMs: null,
        updatedAtMs: 5_000,
      })
      expect(await tx.principals.lock(principal.id)).toStrictEqual({ ...principal, status: "DELETED" })
      expect(await tx.accounts.lockAccount(account.id)).toStrictEqual({
        ...account,
        subject: `deleted:${account.id}`,
        providerTenant: null,
        email: null,
        isContactable: false,
        refreshTokenSealed: null,
        status: "UNLINKED",
      })
      const left = { ...membership, status: "REMOVED", profile: {}, updatedAtMs: 5_000 }
      expect(await tx.members.find(membership.id)).toStrictEqual(left)
      expect((await tx.sessions.find(session.id))?.status).toBe("REVOKED")
      expect((await tx.sessions.find(ended.id))?.revokeReason).toBe("logout")
      expect((await tx.refreshTokens.find([person.token.tokenHash]))?.revokedAtMs).toBe(5_000)
      expect((await tx.pats.lock(pat.id))?.revokeReason).toBe("PRINCIPAL_ENDED")
      expect((await tx.delegations.findDelegation(standing.id))?.revokedAtMs).toBe(5_000)
      expect(await tx.delegations.findDelegation(person.before.id)).toStrictEqual(person.before)
      expect((await tx.grants.find(grant.id))?.status).toBe("REVOKED")
      expect(await tx.grants.find(person.lost.id)).toStrictEqual({ ...person.lost, reason: "" })
      expect((await tx.invitations.lock(person.offered.id))?.status).toBe("REVOKED")
      expect((await tx.invitations.lock(person.given.id))?.status).toBe("REVOKED")
      expect(await tx.invitations.lock(person.taken.id)).toStrictEqual(person.taken)
      const keys = [principal.id, session.id, pat.id, standing.id]
      const kinds = (await tx.revocations.find(keys, 5_001)).map((one) => one.kind)
      expect(kinds.toSorted()).toEqual(["CREDENTIAL", "CREDENTIAL", "PRINCIPAL", "SESSION"])
    })
  })

  test("is permanent and idempotent", async () => {
    const person = await putPerson(store)
    await store.transaction(async (tx) => {
      const { identity, principal } = person
      await tx.accounts.erase(identity.id, 5_000)
      expect(await tx.principals.resume(principal.id, 5)).toBe(false)
      expect(await tx.principals.reactivate(principal.id, 5_001)).toBe(false)
      expect(await tx.principals.end(principal.id, "SUSPENDED", 6_000)).toBe(false)
      await tx.accounts.erase(identity.id, 7_000)
      expect((await tx.identities.findIdentity(identity.id))?.updatedAtMs).toBe(5_000)
    })
  })

  test("the same provider account makes a new person afterwards, with other ids", async () => {
    const person = await putPerson(store)
    const again = newPerson()
    await store.transaction(async (tx) => {
      await tx.accounts.erase(person.identity.id, 5_000)
      expect(await tx.identities.findAccount(person.account)).toBeUndefined()
      const account = { ...again.account, subject: person.account.subject }
      expect(await tx.identities.insertIdentity(again.identity, account, again.principal)).toBe(true)
      expect((await tx.identities.findAccount(person.account))?.identityId).toBe(again.identity.id)
      expect(await tx.identities.findMemberships(person.principal.id, app.id)).toEqual([])
    })
  })
})
