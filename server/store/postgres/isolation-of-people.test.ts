// As isolation.test.ts, for people, services, delegations, invitations and permissions.
import type { Store, Tx } from "@signet/kernel/ports"
import * as samples from "@signet/kernel/testing/machine-records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../test/support/postgres.ts"
import { newClient, newContext, newInvitation, putOwnApp } from "./testing/administration.ts"
import { newPat, newSecret, putService } from "./testing/machines.ts"
import { app, freshId, type Person, putApp, putPerson } from "./testing/people.ts"

const nowMs = 5_000
const page = { size: 9, before: null }

describeOnEachStore("a query about people and services answers for its own rows", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  /** Another membership of the person, newer than all others. */
  const join = (tx: Tx, of: Person, change: Partial<Person["membership"]>) =>
    tx.identities.insertMembership({ ...of.membership, id: freshId("mem"), ...change })

  test("people: undeleted users, by address or subject, with a live membership at the place", async () => {
    const ada = await putPerson(store)
    const email = `${ada.principal.id}@example.com`
    const [tenantId, contextId] = [freshId("ten"), freshId("ctx")]
    await store.transaction(async (tx) => {
      await tx.identities.setPrimaryEmail(ada.identity.id, email, nowMs)
      await join(tx, ada, { tenantId, contextId })
    })
    const { provider, issuer, subject } = ada.account
    const find = (by: object, within: object | null = null) =>
      store.transaction(async (tx) =>
        (await tx.people.find({ by, within } as Parameters<typeof tx.people.find>[0], 9)).map(({ id }) => id),
      )
    const found = [ada.principal.id]
    const at = (place: object) => ({ appId: app.id, tenantId: null, contextId: null, ...place })
    const elsewhere = await store.transaction((tx) => putOwnApp(tx))
    const table: [object, object | null, boolean][] = [
      [{ email: email.toUpperCase() }, null, true],
      [{ email: `x${email}` }, null, false],
      [{ provider, issuer, subject }, null, true],
      [{ provider, issuer: null, subject }, null, true],
      [{ provider: "IDP_B", issuer: null, subject }, null, false],
      [{ provider, issuer: "https://other.example", subject }, null, false],
      [{ provider, issuer: null, subject: "other" }, null, false],
      [{ email }, at({}), true],
      [{ email }, at({ appId: elsewhere.id }), false],
      [{ email }, at({ tenantId }), true],
      [{ email }, at({ tenantId: freshId("ten") }), false],
      [{ email }, at({ contextId }), true],
      [{ email }, at({ contextId: freshId("ctx") }), false],
    ]
    for (const [by, within, isFound] of table)
      expect([by, within, await find(by, within)]).toEqual([by, within, isFound ? found : []])

    // The searches that no longer find the person after one column changed.
    const both = async () => [
      await find({ email }),
      await find({ provider, issuer, subject }),
      await find({ email }, at({})),
    ]
    const { db } = opened
    const memberships = db.updateTable("membership").where("principal_id", "=", ada.principal.id)
    const principals = db.updateTable("principal").where("id", "=", ada.principal.id)
    const identities = db.updateTable("identity").where("id", "=", ada.identity.id)
    const accounts = db.updateTable("provider_account").where("id", "=", ada.account.id)
    await memberships.set({ status: "REMOVED" }).execute()
    expect(await both()).toEqual([found, found, []])
    await memberships.set({ status: "ACTIVE" }).execute()
    await accounts.set({ status: "UNLINKED" }).execute()
    expect(await both()).toEqual([found, [], found])
    await accounts.set({ status: "LINKED" }).execute()
    await principals.set({ status: "DELETED" }).execute()
    expect(await both()).toEqual([[], [], []])
    await principals.set({ status: "ACTIVE", kind: "AGENT" }).execute()
    expect(await both()).toEqual([[], [], []])
    expect(await store.transaction((tx) => tx.identities.findUserPrincipal(ada.identity.id))).toBeUndefined()
    await principals.set({ kind: "USER" }).execute()
    await identities.set({ status: "DELETED" }).execute()
    expect(await both()).toEqual([[], [], []])
    await identities.set({ status: "ACTIVE" }).execute()
    expect(await both()).toEqual([found, found, found])
  })

  test("ending a principal keeps earlier revocation times, and the credentials of others", async () => {
    const [service, other] = [await putService(store), await putService(store)]
    const [ada, bob] = [await putPerson(store), await putPerson(store)]
    const keyOf = ({ account }: typeof service, revokedAtMs: number | null) => ({
      ...samples.serviceKey,
      serviceAccountId: account.id,
      kid: freshId("scr"),
      revokedAtMs,
    })
    const sealingOf = (of: typeof service, revokedAtMs: number | null) => ({
      ...keyOf(of, revokedAtMs),
      mailboxes: ["a"],
    })
    await store.transaction(async (tx) => {
      const table = [
        [service, null, nowMs],
        [service, 3_000, 3_000],
        [other, null, null],
      ] as const
      const rows = table.map(([of, revokedAtMs]) => ({
        secret: newSecret(of.account, { revokedAtMs }),
        key: keyOf(of, revokedAtMs),
        sealing: sealingOf(of, revokedAtMs),
      }))
      for (const { secret, key, sealing } of rows) {
        await tx.serviceAccounts.insertSecret(secret)
        await tx.serviceAccounts.insertKey(key)
        await tx.envelopeKeys.insert(sealing)
      }
      const pats = [newPat(ada), newPat(ada, { revokedAtMs: 3_000, revokeReason: "LEAKED" }), newPat(bob)]
      for (const pat of pats) await tx.pats.insert(pat)
      await tx.principals.end(service.principal.id, "SUSPENDED", nowMs)
      await tx.principals.end(ada.principal.id, "SUSPENDED", nowMs)
      for (const [i, [of, , expected]] of table.entries()) {
        const { secret, key, sealing } = rows[i] ?? expect.unreachable()
        const { account } = of
        const secrets = await tx.serviceAccounts.secrets(account.id)
        const keys = await tx.serviceAccounts.keys(account.id)
        expect(secrets.find(({ id }) => id === secret.id)?.revokedAtMs).toBe(expected)
        expect(keys.find(({ kid }) => kid === key.kid)?.revokedAtMs).toBe(expected)
        expect((await tx.envelopeKeys.find(sealing.kid))?.revokedAtMs).toBe(expected)
      }
      const reasons = await Promise.all(pats.map(async ({ id }) => (await tx.pats.lock(id))?.revokeReason))
      expect(reasons).toEqual(["PRINCIPAL_ENDED", "LEAKED", null])
    })
  })

  test("locks: set on active or locked principals, lifted from locked ones, due at their time", async () => {
    const [ada, bob, eve] = [await putPerson(store), await putPerson(store), await putPerson(store)]
    await store.transaction(async (tx) => {
      const lock = (of: Person, expiresAtMs: number) =>
        tx.principals.lockUntil(of.principal.id, { expiresAtMs, reason: "" }, nowMs)
      await tx.principals.end(eve.principal.id, "SUSPENDED", nowMs)
      expect([await lock(ada, 6_000), await lock(bob, 7_000), await lock(eve, 6_000)]).toEqual([true, true, false])
      expect(await tx.principals.unlock(eve.principal.id, nowMs)).toBe(false)
      expect((await tx.principals.lock(eve.principal.id))?.status).toBe("SUSPENDED")
      expect(await tx.principals.listDueUnlocks(5_999, 9)).toEqual([])
      expect(await tx.principals.listDueUnlocks(6_000, 9)).toEqual([ada.principal.id])
      expect(await tx.principals.unlock(ada.principal.id, 6_000)).toBe(true)
      expect((await tx.principals.lock(bob.principal.id))?.status).toBe("LOCKED")
      expect(await tx.principals.unlock(bob.principal.id, 6_000)).toBe(true)
    })
  })

  test("a service's secrets and keys: its own, also when another service has a key with the same id", async () => {
    const [service, other] = [await putService(store), await putService(store)]
    await store.transaction(async (tx) => {
      const kid = freshId("scr")
      const key = { ...samples.serviceKey, serviceAccountId: service.account.id, kid }
      const otherKey = { ...key, serviceAccountId: other.account.id }
      const second = { ...key, kid: freshId("scr") }
      const [secret, otherSecret] = [newSecret(service.account), newSecret(other.account)]
      for (const each of [key, otherKey, second]) await tx.serviceAccounts.insertKey(each)
      for (const each of [secret, otherSecret]) await tx.serviceAccounts.insertSecret(each)
      expect(await tx.serviceAccounts.secrets(service.account.id)).toStrictEqual([secret])
      await tx.serviceAccounts.shortenSecret(secret.id, 6_000)
      await tx.serviceAccounts.markSecretUsed(secret.id, 6_000)
      expect(await tx.serviceAccounts.secrets(other.account.id)).toStrictEqual([otherSecret])
      expect(await tx.serviceAccounts.revokeKey(service.account.id, kid, nowMs)).toBe(true)
      expect(await tx.serviceAccounts.keys(other.account.id)).toStrictEqual([otherKey])
      expect(await tx.serviceAccounts.keys(service.account.id)).toEqual(
        expect.arrayContaining([{ ...key, revokedAtMs: nowMs }, second]),
      )
      expect(await tx.serviceAccounts.keys(service.account.id)).toHaveLength(2)
    })
  })

  test("the facts of a client: live secrets, keys and memberships, all of them its own", async () => {
    const [service, other] = [await putService(store), await putService(store)]
    const tenantId = freshId("ten")
    await store.transaction(async (tx) => {
      const elsewhere = await putOwnApp(tx)
      const { account, membership } = service
      const keyOf = (of: typeof service, change: object = {}) => ({
        ...samples.serviceKey,
        serviceAccountId: of.account.id,
        kid: freshId("scr"),
        ...change,
      })
      const [secret, key] = [newSecret(account, { expiresAtMs: nowMs + 1 }), keyOf(service)]
      const secrets = [
        secret,
        newSecret(account, { expiresAtMs: nowMs }),
        newSecret(account, { expiresAtMs: nowMs + 1, revokedAtMs: 3_000 }),
        newSecret(other.account),
      ]
      for (const each of secrets) await tx.serviceAccounts.insertSecret(each)
      for (const each of [key, keyOf(service, { revokedAtMs: 3_000 }), keyOf(other)])
        await tx.serviceAccounts.insertKey(each)
      await tx.identities.insertMembership({ ...membership, id: freshId("mem"), tenantId, status: "REMOVED" })
      await tx.identities.insertMembership({ ...membership, id: freshId("mem"), appId: elsewhere.id })
      for (const who of [{ clientId: account.clientId }, { principalId: account.principalId, credentialId: "" }]) {
        const facts = await tx.serviceAccounts.findClient({ who, nowMs })
        expect(facts?.account).toStrictEqual(account)
        expect(facts?.secrets.map(({ id }) => id)).toEqual([secret.id])
        expect(facts?.keys.map(({ kid }) => kid)).toEqual([key.kid])
        expect(facts?.memberships).toEqual([{ status: "ACTIVE", tenantId: null, contextId: null }])
        expect(facts?.versions).toEqual(await tx.authorities.find(account.principalId, account.appId))
      }
    })
  })

  test("delegations: policies of one actor and app, and what one subject delegated in one app", async () => {
    const [service, other] = [await putService(store), await putService(store)]
    const [ada, bob] = [await putPerson(store), await putPerson(store)]
    await store.transaction(async (tx) => {
      const elsewhere = await putOwnApp(tx)
      const actor = service.principal.id
      const tenantId = freshId("ten")
      const policyOf = (change: object = {}) => ({
        ...samples.delegationPolicy,
        id: freshId("dpo"),
        actorPrincipalId: actor,
        tenantId,
        ...change,
      })
      const own = policyOf()
      const policies = [own, policyOf({ actorPrincipalId: other.principal.id }), policyOf({ appId: elsewhere.id })]
      for (const each of policies) await tx.delegations.insertPolicy(each)
      const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).toSorted()
      expect(ids(await tx.delegations.findPolicies(actor, app.id))).toEqual([own.id])
      expect(ids(await tx.delegations.listPolicies(app.id, tenantId, page))).toEqual(ids(policies.slice(0, 2)))
      const delegationOf = (subject: Person, appId = app.id) => ({
        ...samples.delegation,
        id: freshId("dlg"),
        policyId: own.id,
        appId,
        actorPrincipalId: actor,
        subjectPrincipalId: subject.principal.id,
      })
      const delegated = delegationOf(ada)
      for (const each of [delegated, delegationOf(bob), delegationOf(ada, elsewhere.id)]) {
        await tx.delegations.insertDelegation(each)
      }
      expect(ids(await tx.delegations.listDelegations(ada.principal.id, app.id, page))).toEqual([delegated.id])
    })
  })

  test("active and lasting users never include a service, even as a member", async () => {
    const { principal } = await putService(store)
    const [suspended, ada] = [await putPerson(store), await putPerson(store)]
    const ids = [principal.id, suspended.principal.id, ada.principal.id]
    const place = { appId: app.id, tenantId: null }
    await store.transaction((tx) => tx.principals.end(suspended.principal.id, "SUSPENDED", nowMs))
    expect(await store.members.activeUsers(ids, place)).toEqual([ada.principal.id])
    expect(await store.members.goneUsers(ids, place)).toEqual([principal.id])
  })

  test("the pending invitation of a membership; the list of one context", async () => {
    const [ada, bob] = [await putPerson(store), await putPerson(store)]
    await store.transaction(async (tx) => {
      const context = newContext()
      await tx.contexts.insert(context)
      const contextId = context.id
      const of = (person: Person, change: object = {}) =>
        newInvitation({ invitedBy: ada.principal.id, membershipId: person.membership.id, ...change })
      const own = of(ada, { contextId })
      const answered = of(ada, { status: "REVOKED", answeredAtMs: 2 })
      for (const each of [answered, of(bob), own]) await tx.invitations.insert(each)
      expect((await tx.invitations.lockByMembership(ada.membership.id))?.id).toBe(own.id)
      expect((await tx.invitations.list(app.id, { tenantId: null, contextId }, page)).map(({ id }) => id)).toEqual([
        own.id,
      ])
      await tx.invitations.update({ ...own, status: "ACCEPTED", answeredAtMs: 3 })
      expect(await tx.invitations.lockByMembership(ada.membership.id)).toBeUndefined()
    })
  })

  test("connections and magic links: of one app, one address, and before their expiry", async () => {
    await store.transaction(async (tx) => {
      const [own, other] = [await putOwnApp(tx), await putOwnApp(tx)]
      const clients = [newClient({ appId: own.id }), newClient({ appId: other.id })]
      const elsewhere = newClient({ appId: own.id, platform: "IOS" })
      const ofOther = newClient({ appId: own.id, provider: "IDP_B" })
      for (const each of [...clients, elsewhere, ofOther]) await tx.apps.putProviderClient(each)
      const ids = async (provider: "IDP_A" | null) =>
        (await tx.apps.findConnections(own.id, provider, "WEB")).map(({ id }) => id)
      expect(await ids("IDP_A")).toEqual([clients[0]?.id])
      expect(await ids(null)).toEqual([clients[0]?.id, ofOther.id])

      const [address, stranger] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]
      const link = (emailHash: Uint8Array, expiresAtMs: number) => ({
        id: freshId("mlr"),
        emailHash,
        appId: own.id,
        codeChallenge: null,
        expiresAtMs,
      })
      const live = link(address, nowMs + 1)
      const left = link(stranger, nowMs + 1)
      for (const each of [live, link(address, nowMs), left]) await tx.magicLinks.insert(each)
      expect(await tx.magicLinks.findLive([address], nowMs)).toStrictEqual([live])
      await tx.magicLinks.forget([address])
      expect(await tx.magicLinks.findLive([address], nowMs)).toEqual([])
      expect(await tx.magicLinks.findLive([stranger], nowMs)).toStrictEqual([left])
    })
  })

  test("a permission is kept by the scopes of its own app, and of no other", async () => {
    await store.transaction(async (tx) => {
      const [own, other] = [await putOwnApp(tx), await putOwnApp(tx)]
      const permission = { id: freshId("prm"), appId: own.id, key: "notes.note.read", description: "", createdAtMs: 1 }
      await tx.roles.insertPermission(permission)
      const scopes = [{ key: "notes.read", audience: "svc-notes", isDefault: true, permissions: [permission.key] }]
      await tx.apps.putApp({ ...other, scopes })
      await tx.apps.putApp({ ...own, scopes })
      expect(await tx.roles.deletePermission(permission, nowMs)).toBe(false)
      await tx.apps.putApp(own)
      expect(await tx.roles.deletePermission(permission, nowMs)).toBe(true)
    })
  })

  test("a held password belongs to one account", async () => {
    const [one, other] = [new Uint8Array(32).fill(3), new Uint8Array(32).fill(4)]
    await store.transaction(async (tx) => {
      await tx.passwordHolds.hold(one, nowMs)
      await tx.passwordHolds.hold(other, nowMs)
      await tx.passwordHolds.release(one)
      expect([await tx.passwordHolds.isHeld(one), await tx.passwordHolds.isHeld(other)]).toEqual([false, true])
    })
  })
})
