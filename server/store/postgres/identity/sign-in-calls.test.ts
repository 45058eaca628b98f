import { randomBytes } from "node:crypto"
import type { Entering, Store } from "@signet/kernel/ports"
import type { Session } from "@signet/kernel/records"
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"
import { plainEvent } from "../testing/calls.ts"
import {
  app,
  freshId,
  newPerson,
  newSession,
  newToken,
  type Person,
  providerClient,
  putApp,
  putPerson,
} from "../testing/people.ts"

const place = { appId: app.id, tenantId: null, contextId: null }
const expiresAtMs = 4_000_000_000_000
const freshUse = () => ({ tokenHash: new Uint8Array(randomBytes(32)), expiresAtMs })

/** A person with the version that a sign-in reads. */
async function putReady(store: Store, person: Person = newPerson()) {
  await putPerson(store, person)
  const { authority } = await store.signIns.find({ place, clientId: providerClient.id, account: person.account })
  return { person, version: authority?.versions.principal ?? 0 }
}
type Ready = Awaited<ReturnType<typeof putReady>>

/** Enters as the facts were read. */
function enter(store: Store, { person, version }: Ready, change: Partial<Entering> = {}, at: Partial<Session> = {}) {
  const session = newSession(person, at)
  const token = newToken(session)
  const events = ["login.succeeded", "session.created"].map((kind) =>
    plainEvent({ kind: kind as "session.created", appId: app.id, sessionId: session.id, target: null }),
  )
  const entering: Entering = { session, token, email: null, version, uses: [freshUse()], ...change }
  return { session, token, events, uses: entering.uses, isEntered: store.signIns.enter(entering, events) }
}
type Entered = ReturnType<typeof enter>

const answers = (calls: readonly Entered[]) => Promise.all(calls.map(({ isEntered }) => isEntered))

/** Expects that the sign-in stored no session, token or event, and used up no token of the provider. */
async function expectNothing(store: Store, { session, token, events, uses }: Entered) {
  await store.transaction(async (tx) => {
    expect(await tx.sessions.find(session.id)).toBeUndefined()
    expect(await tx.refreshTokens.find([token.tokenHash])).toBeUndefined()
    expect(await tx.audit.storedIds(events.map(({ id }) => id))).toEqual(new Set())
  })
  for (const { tokenHash } of uses) {
    expect(await store.transaction((tx) => tx.idTokenUses.use(tokenHash, expiresAtMs))).toBe(true)
  }
}

describeOnEachStore("sign-ins of several members at once", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  test("find what a transaction finds under its locks, and nothing for another key", async () => {
    const people = [await putPerson(store), await putPerson(store), newPerson()]
    const other = { ...people[0]?.account, providerTenant: "team" } as Person["account"]
    const keys = [...people.map(({ account }) => account), other]
    const asked = { place, clientId: providerClient.id }
    const found = await Promise.all(keys.map((account) => store.signIns.find({ ...asked, account })))
    for (const [i, account] of keys.entries()) {
      const expected = await store.transaction(async (tx) => {
        const { identityId: _, ...records } = await tx.signIns.lock({ ...asked, account })
        const { principal } = records
        return { ...records, authority: principal && (await tx.signIns.findAuthority(principal.id, place)) }
      })
      expect(found[i]).toStrictEqual(expected)
      expect(found[i]?.account?.id).toBe(i < 2 ? account.id : undefined)
    }
  })

  test("store session, token, events and the use of the account", async () => {
    const revoked = newPerson()
    const people = [
      await putReady(store),
      await putReady(store, { ...revoked, account: { ...revoked.account, status: "REVOKED" } }),
    ]
    const calls = people.map((ready, i) =>
      enter(
        store,
        ready,
        { email: i === 0 ? "new@example.com" : null },
        { amr: ['a "quoted" {one}', "b\\c"], audiences: ["x", "y"] },
      ),
    )
    expect(await answers(calls)).toEqual([true, true])
    await store.transaction(async (tx) => {
      for (const [i, { session, token, events, uses }] of calls.entries()) {
        expect(await tx.sessions.find(session.id)).toStrictEqual(session)
        expect(await tx.refreshTokens.find([token.tokenHash])).toStrictEqual(token)
        expect(await tx.audit.storedIds(events.map(({ id }) => id))).toEqual(new Set(events.map(({ id }) => id)))
        for (const { tokenHash } of uses) expect(await tx.idTokenUses.use(tokenHash, expiresAtMs)).toBe(false)
        const { account } = people[i]?.person ?? expect.unreachable()
        const stored = await tx.identities.findAccount(account)
        expect(stored).toMatchObject({ status: "LINKED", email: i === 0 ? "new@example.com" : account.email })
      }
    })
    const { rows } = await sql<{ at: Date }>`select last_used_at as at from provider_account
      where id = any(${people.map(({ person }) => person.account.id)})`.execute(opened.db)
    expect(rows.map(({ at }) => at.getTime())).toEqual(calls.map(({ session }) => session.createdAtMs))
  })

  test.each<readonly [string, (person: Person) => ReturnType<typeof sql>]>([
    [
      "the identity is to be deleted",
      ({ identity }) =>
        sql`update identity set status = 'DELETION_PENDING', deletes_at = now() where id = ${identity.id}`,
    ],
    [
      "the principal is suspended",
      ({ principal }) => sql`update principal set status = 'SUSPENDED' where id = ${principal.id}`,
    ],
    [
      "the account is blocked",
      ({ account }) => sql`update provider_account set status = 'BLOCKED' where id = ${account.id}`,
    ],
    [
      "the account is unlinked",
      ({ account }) => sql`update provider_account set status = 'UNLINKED' where id = ${account.id}`,
    ],
    [
      "a membership has changed",
      ({ principal }) => sql`update authority_version set version = version + 1 where principal_id = ${principal.id}`,
    ],
    ["no version is known", ({ principal }) => sql`delete from authority_version where principal_id = ${principal.id}`],
  ])("write nothing if %s, and write the others", async (_, change) => {
    const [changed, other] = [await putReady(store), await putReady(store)]
    await change(changed.person).execute(opened.db)
    const calls = [enter(store, changed), enter(store, other)]
    expect(await answers(calls)).toEqual([false, true])
    await expectNothing(store, calls[0] ?? expect.unreachable())
  })

  test("write nothing for an account that another identity has linked", async () => {
    const [one, other] = [await putReady(store), await putReady(store)]
    await sql`update provider_account set identity_id = ${other.person.identity.id} where id = ${one.person.account.id}`.execute(
      opened.db,
    )
    const call = enter(store, one)
    expect(await call.isEntered).toBe(false)
    await expectNothing(store, call)
  })

  test("write nothing at a place that is missing, closed or of another tenant", async () => {
    const ready = await putReady(store)
    const [tenantId, closed, contextId] = [freshId("ten"), freshId("ten"), freshId("ctx")]
    const tenant = (
      id: string,
      status: string,
    ) => sql`insert into tenant (id, app_id, name, status, created_at, updated_at)
      values (${id}, ${app.id}, 't', ${status}, now(), now())`
    await tenant(tenantId, "ACTIVE").execute(opened.db)
    await tenant(closed, "SUSPENDED").execute(opened.db)
    await sql`insert into context (id, app_id, tenant_id, type, name, status, created_at, updated_at)
      values (${contextId}, ${app.id}, ${tenantId}, 'room', 'c', 'ACTIVE', now(), now())`.execute(opened.db)
    const refused = [
      { tenantId: freshId("ten") },
      { tenantId: closed },
      { tenantId, contextId: freshId("ctx") },
      { contextId },
    ]
    for (const at of refused) {
      const call = enter(store, ready, {}, at)
      expect([at, await call.isEntered]).toEqual([at, false])
      await expectNothing(store, call)
    }
    expect(await enter(store, ready, {}, { tenantId, contextId }).isEntered).toBe(true)
  })

  test("use each token once, also within a statement", async () => {
    const [one, two, three] = [await putReady(store), await putReady(store), await putReady(store)]
    const [own, shared, old] = [freshUse(), freshUse(), freshUse()]
    await store.transaction((tx) => tx.idTokenUses.use(old.tokenHash, expiresAtMs))
    const calls = [
      enter(store, one, { uses: [own, shared] }),
      // A second statement decides about the same account.
      enter(store, one, { uses: [own] }),
      enter(store, two, { uses: [shared] }),
      enter(store, three, { uses: [freshUse(), old] }),
      enter(store, two, { uses: [] }),
    ]
    expect(await answers(calls)).toEqual([true, false, false, false, true])
    for (const { session } of calls.slice(1, 4)) {
      expect(await store.transaction((tx) => tx.sessions.find(session.id))).toBeUndefined()
    }
    expect(await enter(store, two, { uses: [shared] }).isEntered).toBe(false)
    expect(await enter(store, one, { uses: [own] }).isEntered).toBe(false)
  })

  test("write none of a statement in which one fails", async () => {
    const [one, other] = [await putReady(store), await putReady(store)]
    const first = enter(store, one)
    expect(await first.isEntered).toBe(true)
    const calls = [enter(store, one, {}, { id: first.session.id }), enter(store, other)]
    expect(await answers(calls)).toEqual([false, false])
    await expectNothing(store, calls[1] ?? expect.unreachable())
    expect(await enter(store, other).isEntered).toBe(true)
  })

  test("refuse a token of another session", async () => {
    const ready = await putReady(store)
    const stranger = newToken(newSession(newPerson()))
    await expect(enter(store, ready, { token: stranger }).isEntered).rejects.toThrow(RangeError)
  })
})

describeOnPostgres("sign-ins beside other calls", () => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore("postgres")
    await putApp(opened.store)
  })
  afterAll(() => opened.close())

  test.each<readonly [string, (person: Person) => ReturnType<typeof sql>]>([
    ["the identity", ({ identity }) => sql`select from identity where id = ${identity.id} for update`],
    ["the principal", ({ principal }) => sql`select from principal where id = ${principal.id} for update`],
    ["the account", ({ account }) => sql`select from provider_account where id = ${account.id} for update`],
    [
      "a membership's version",
      ({ principal }) => sql`update authority_version set version = version + 1 where principal_id = ${principal.id}`,
    ],
  ])("do not wait for the holder of %s, and write nothing", async (_, hold) => {
    const { store, db } = opened
    const [locked, free] = [await putReady(store), await putReady(store)]
    const call = await db.transaction().execute(async (holder) => {
      await hold(locked.person).execute(holder)
      const calls = [enter(store, locked), enter(store, free)]
      expect(await answers(calls)).toEqual([false, true])
      return calls[0] ?? expect.unreachable()
    })
    await expectNothing(store, call)
  })

  test.each([
    ["the app", sql`select from app where id = ${app.id} for update`],
    ["the provider client", sql`select from provider_client where id = ${providerClient.id} for update`],
  ])("do not wait for the holder of %s, and write nothing", async (_, hold) => {
    const { store, db } = opened
    const ready = await putReady(store)
    await db.transaction().execute(async (holder) => {
      await hold.execute(holder)
      expect(await enter(store, ready).isEntered).toBe(false)
    })
    expect(await enter(store, ready).isEntered).toBe(true)
  })

  test("leave no session of a membership that is suspended at the same time", async () => {
    const { store } = opened
    const outcomes = new Set<boolean>()
    for (let i = 0; i < 30; i++) {
      const ready = await putReady(store)
      const { membership, principal } = ready.person
      const suspending = store.transaction(async (tx) => {
        await tx.principals.lock(principal.id)
        await tx.members.update({ ...membership, status: "SUSPENDED" })
        await tx.endings.endByMembership({ ...place, principalId: principal.id }, "membership.suspended", Date.now())
      })
      const call = enter(store, ready)
      const [isEntered] = await Promise.all([call.isEntered, suspending])
      outcomes.add(isEntered)
      const session = await store.transaction((tx) => tx.sessions.find(call.session.id))
      expect(session?.status).toBe(isEntered ? "REVOKED" : undefined)
    }
    expect(outcomes.size).toBeGreaterThan(0)
  })
})
