import type { SessionId } from "@signet/kernel/ids"
import type { LockedSignIn, Tx } from "@signet/kernel/ports"
import { type RawBuilder, sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"
import { untilWaiting } from "../../../../test/support/waiting.ts"
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
  putSignIn,
} from "../testing/people.ts"

const place = { appId: app.id, tenantId: null, contextId: null }
const lock = (tx: Tx, { account }: Pick<Person, "account">): Promise<LockedSignIn> =>
  tx.signIns.lock({ place, clientId: providerClient.id, account })

describeOnEachStore("the statements of a sign-in", (kind) => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore(kind)
    await putApp(opened.store)
  })
  afterAll(() => opened.close())

  test("lock the person by the account's whole key", async () => {
    const person = await putPerson(opened.store)
    const { account, identity, principal, membership } = person
    const open = { place: { app: app.status, tenant: null, context: null }, client: providerClient.status }
    const nobody = { identityId: undefined, identity: undefined, principal: undefined, account: undefined }
    await opened.store.transaction(async (tx) => {
      const own = { account, identity, principal, identityId: identity.id }
      expect(await lock(tx, person)).toStrictEqual({ ...open, ...own })
      for (const change of [{ issuer: "https://other.example" }, { subject: "x" }, { providerTenant: "team" }]) {
        expect(await lock(tx, { account: { ...account, ...change } })).toStrictEqual({ ...open, ...nobody })
      }
      expect(await tx.signIns.findAuthority(principal.id, place)).toStrictEqual({
        ...{ app, outer: membership, inner: membership, around: undefined },
        versions: await tx.authorities.find(principal.id, app.id),
      })
    })
  })

  test("find no place, client or membership that is missing", async () => {
    const { account, principal, membership } = await putPerson(opened.store)
    const inside = { ...place, tenantId: freshId("ten"), contextId: freshId("ctx") }
    await opened.store.transaction(async (tx) => {
      const locked = await tx.signIns.lock({ place: inside, clientId: freshId("pcl"), account })
      expect(locked.place).toStrictEqual({ app: app.status, tenant: undefined, context: undefined })
      expect(locked.client).toBeUndefined()
      const { outer, inner, around } = await tx.signIns.findAuthority(principal.id, inside)
      expect([outer, inner, around]).toStrictEqual([membership, undefined, undefined])
      const around_ = { ...membership, id: freshId("mem"), tenantId: inside.tenantId }
      await tx.identities.insertMembership(around_)
      const there = await tx.signIns.findAuthority(principal.id, inside)
      expect([there.inner, there.around]).toStrictEqual([undefined, around_])
    })
  })

  test("write the session with the events, and neither if one fails", async () => {
    const person = await putPerson(opened.store)
    const session = await putSignIn(opened.store, person, null)
    const { store } = opened
    await store.transaction(async (tx) => {
      expect(await tx.sessions.find(session.id)).toStrictEqual(session)
      expect((await lock(tx, person)).account).toStrictEqual(person.account)
    })
    const eventsOf = async (id: SessionId) =>
      (await opened.db.selectFrom("audit_event").select("id").where("session_id", "=", id).execute()).length
    expect(await eventsOf(session.id)).toBe(1)
    const stranger = newPerson()
    await expect(putSignIn(store, stranger, null)).rejects.toThrow("foreign key")
    const events = opened.db.selectFrom("audit_event").select("id")
    expect(await events.where("subject_identity_id", "=", stranger.identity.id).execute()).toEqual([])
  })

  test("do not write a session without an event", async () => {
    const person = await putPerson(opened.store)
    const session = newSession(person)
    const silent = opened.store.transaction(async (tx) => tx.signIns.insertSession(session, newToken(session), null))
    await expect(silent).rejects.toThrow("no event")
  })
})

describeOnPostgres("a sign-in that waits for another call's lock", () => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore("postgres")
    await putApp(opened.store)
  })
  afterAll(() => opened.close())

  /** The facts that a sign-in reads after a wait: the holder changes locked rows, and others change rows meanwhile. */
  async function afterWait(person: Person, held: RawBuilder<unknown>, others?: RawBuilder<unknown>) {
    const waiting = await opened.db.transaction().execute(async (holder) => {
      await held.execute(holder)
      const waiting = opened.store.transaction(async (tx) => ({
        locked: await lock(tx, person),
        authority: await tx.signIns.findAuthority(person.principal.id, place),
      }))
      await untilWaiting(opened.db)
      await others?.execute(opened.db)
      return { waiting }
    })
    return waiting.waiting
  }

  test("sees identity, principal and account as they became meanwhile", async () => {
    const person = await putPerson(opened.store)
    const { account, identity, principal } = person
    const blocked = sql`update provider_account set status = 'BLOCKED' where id = ${account.id}`
    const suspended = sql`update principal set status = 'SUSPENDED' where id = ${principal.id}`
    const pending = sql`update identity set status = 'DELETION_PENDING', deletes_at = now() where id = ${identity.id}`
    expect((await afterWait(person, blocked)).locked.account?.status).toBe("BLOCKED")
    expect((await afterWait(person, suspended)).locked.principal?.status).toBe("SUSPENDED")
    expect((await afterWait(person, pending)).locked.identity?.status).toBe("DELETION_PENDING")
  })

  test("sees that another identity linked the account meanwhile", async () => {
    const [person, other] = [await putPerson(opened.store), await putPerson(opened.store)]
    const held = sql`update provider_account set identity_id = ${other.identity.id} where id = ${person.account.id}`
    const { locked } = await afterWait(person, held)
    expect(locked.identityId).toBe(person.identity.id)
    expect(locked.account?.identityId).toBe(other.identity.id)
  })

  test("sees a membership that was suspended while it waited for the principal", async () => {
    const person = await putPerson(opened.store)
    const held = sql`select from principal where id = ${person.principal.id} for update`
    const others = sql`update membership set status = 'SUSPENDED' where id = ${person.membership.id}`
    expect((await afterWait(person, held, others)).authority.outer?.status).toBe("SUSPENDED")
  })

  test("sees a client that was disabled while it waited", async () => {
    const person = await putPerson(opened.store)
    const disabled = sql`with held as (select from provider_client where id = ${providerClient.id} for update)
      update provider_client set status = 'DISABLED' where id = ${providerClient.id} and (select count(*) from held) = 1`
    expect((await afterWait(person, disabled)).locked.client).toBe("DISABLED")
  })
})
