import { longestCertificateMs } from "@signet/kernel/machine/envelope-certificate"
import { reactivationMs } from "@signet/kernel/machine/ports"
import { keyCredentialId } from "@signet/kernel/machine/service-account"
import type { Store } from "@signet/kernel/ports"
import { serviceKey } from "@signet/kernel/testing/machine-records"
import { longestContextMs } from "@signet/kernel/token/context-claims"
import { CompiledQuery } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"
import { untilWaiting } from "../../../../test/support/waiting.ts"
import { newPat, newSecret, putService } from "../testing/machines.ts"
import { freshId, newSession, putApp, putPerson, putSession } from "../testing/people.ts"

describeOnEachStore("the end of a principal, revocations and assertions", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  /** A person with a session, its token and a personal access token, and a function that counts the active ones. */
  async function putUser() {
    const { person, session, token } = await putSession(store)
    const pat = newPat(person)
    await store.transaction((tx) => tx.pats.insert(pat))
    const state = () =>
      store.transaction(async (tx) => ({
        principal: (await tx.principals.lock(person.principal.id))?.status,
        session: (await tx.sessions.find(session.id))?.status,
        refreshToken: (await tx.refreshTokens.find([token.tokenHash]))?.revokedAtMs,
        pat: (await tx.pats.lock(pat.id))?.revokeReason,
        revoked: (await tx.revocations.find([person.principal.id, session.id, pat.id], 5_000)).map((one) =>
          "issuedBeforeMs" in one ? `${one.kind} before` : one.kind,
        ),
      }))
    return { person, session, pat, state }
  }
  const untouched = { principal: "ACTIVE", session: "ACTIVE", refreshToken: null, pat: null, revoked: [] }

  test.each(["SUSPENDED", "DEACTIVATED"] as const)("%s ends sessions and personal access tokens", async (status) => {
    const { person, state } = await putUser()
    const stranger = await putUser()
    expect(await state()).toEqual(untouched)
    await store.transaction(async (tx) => {
      expect(await tx.principals.end(person.principal.id, status, 5_000)).toBe(true)
      expect(await tx.principals.end(person.principal.id, status, 6_000)).toBe(false)
    })
    const ended = await state()
    expect({ ...ended, revoked: ended.revoked.toSorted() }).toEqual({
      principal: status,
      session: "REVOKED",
      refreshToken: 5_000,
      pat: "PRINCIPAL_ENDED",
      revoked: ["CREDENTIAL", "PRINCIPAL", "SESSION"],
    })
    expect(await stranger.state()).toEqual(untouched)
  })

  test("a principal's credentials in force are counted, up to a limit, and sessions by their account", async () => {
    const { person } = await putUser()
    const { id } = person.principal
    const other = await putPerson(store)
    await store.transaction(async (tx) => {
      await tx.sessions.insert(newSession(person, { providerAccountId: other.account.id }))
      await tx.sessions.insert(newSession(person, { idleExpiresAtMs: 5_000 }))
      await tx.sessions.insert(newSession(person, { absoluteExpiresAtMs: 5_000 }))
      await tx.sessions.insert(newSession(person, { status: "REVOKED", revokedAtMs: 2, revokeReason: "logout" }))
      await tx.pats.insert(newPat(person, { expiresAtMs: 5_000 }))
      await tx.pats.insert(newPat(person, { revokedAtMs: 2, revokeReason: "REVOKED" }))
      await tx.pats.insert(newPat(person))
      const own = person.account.id
      expect(await tx.principals.countCredentials(id, 5_000, 9)).toEqual({
        ...{ sessions: 2, pats: 2, secrets: 0 },
        sessionsByAccount: new Map([
          [own, 1],
          [other.account.id, 1],
        ]),
      })
      const limited = await tx.principals.countCredentials(id, 5_000, 1)
      expect([limited.sessions, limited.pats]).toEqual([1, 1])
      await tx.principals.end(id, "SUSPENDED", 5_000)
      expect(await tx.principals.countCredentials(id, 5_000, 9)).toEqual({
        ...{ sessions: 0, pats: 0, secrets: 0, sessionsByAccount: new Map() },
      })
    })
  })

  test("a failed transaction changes nothing", async () => {
    const { person, state } = await putUser()
    const failed = store.transaction(async (tx) => {
      await tx.principals.end(person.principal.id, "SUSPENDED", 5_000)
      throw new Error("power cut")
    })
    await expect(failed).rejects.toThrow("power cut")
    expect(await state()).toEqual(untouched)
  })

  test.each(["pat", "refresh_token", "revocation"] as const)(
    "a failed statement on %s changes nothing",
    async (table) => {
      const { person, state } = await putUser()
      const blocking = `alter table ${table} add constraint broken check (${table === "revocation" ? "kind <> 'PRINCIPAL'" : "revoked_at is null"}) not valid`
      await opened.db.executeQuery(CompiledQuery.raw(blocking))
      const end = store.transaction((tx) => tx.principals.end(person.principal.id, "SUSPENDED", 5_000))
      await expect(end).rejects.toMatchObject({ code: "23514" })
      await opened.db.executeQuery(CompiledQuery.raw(`alter table ${table} drop constraint broken`))
      expect(await state()).toEqual(untouched)
    },
  )

  test("a service's secrets and keys end with it", async () => {
    const { account, principal } = await putService(store)
    const secret = newSecret(account, { createdAtMs: 2_000 })
    const expired = newSecret(account, { createdAtMs: 1_000, expiresAtMs: 5_000 })
    const key = { ...serviceKey, serviceAccountId: account.id, kid: freshId("scr") }
    await store.transaction(async (tx) => {
      await tx.serviceAccounts.insertSecret(secret)
      await tx.serviceAccounts.insertKey(key)
      await tx.serviceAccounts.insertSecret(expired)
      const secrets = async () => (await tx.principals.countCredentials(principal.id, 5_000, 9)).secrets
      expect(await secrets()).toBe(2)
      await tx.principals.end(principal.id, "SUSPENDED", 5_000)
      expect(await secrets()).toBe(0)
      expect(await tx.serviceAccounts.secrets(account.id)).toStrictEqual(
        [secret, expired].map((each) => ({ ...each, revokedAtMs: 5_000 })),
      )
      expect(await tx.serviceAccounts.keys(account.id)).toStrictEqual([{ ...key, revokedAtMs: 5_000 }])
      const expiresAtMs = 5_000 + longestContextMs
      expect(await tx.revocations.find([secret.id, keyCredentialId(account.id, key.kid)], expiresAtMs - 1)).toEqual(
        expect.arrayContaining([
          { kind: "CREDENTIAL", key: secret.id, expiresAtMs },
          { kind: "CREDENTIAL", key: keyCredentialId(account.id, key.kid), expiresAtMs },
        ]),
      )
      expect(await tx.revocations.find([secret.id], expiresAtMs)).toEqual([])
    })
  })

  test("a suspended principal may resume without its revoked credentials; a deactivated one may not", async () => {
    const { person, session, pat, state } = await putUser()
    await store.transaction(async (tx) => {
      expect(await tx.principals.resume(person.principal.id, 5)).toBe(false)
      await tx.principals.end(person.principal.id, "SUSPENDED", 5_000)
      expect(await tx.principals.resume(person.principal.id, 5)).toBe(true)
    })
    const resumed = await state()
    expect(resumed).toMatchObject({ principal: "ACTIVE", session: "REVOKED", pat: "PRINCIPAL_ENDED" })
    expect(resumed.revoked.toSorted()).toEqual(["CREDENTIAL", "PRINCIPAL before", "SESSION"])
    expect([session.id, pat.id]).toHaveLength(2)
    await store.transaction(async (tx) => {
      await tx.principals.end(person.principal.id, "SUSPENDED", 6_000)
      expect(await tx.principals.end(person.principal.id, "DEACTIVATED", 7_000)).toBe(true)
      expect(await tx.principals.end(person.principal.id, "SUSPENDED", 8_000)).toBe(false)
      expect(await tx.principals.resume(person.principal.id, 5)).toBe(false)
    })
  })

  test("a lock's revocation lasts as long as earlier tokens, or as the lock", async () => {
    const { person } = await putUser()
    const { id } = person.principal
    const locked = (expiresAtMs: number, nowMs: number) =>
      store.transaction((tx) => tx.principals.lockUntil(id, { expiresAtMs, reason: "" }, nowMs))
    const entry = async (nowMs: number) => store.transaction((tx) => tx.revocations.find([id], nowMs))
    const certificateEndMs = 5_000 + longestCertificateMs
    expect(await locked(6_000, 5_000)).toBe(true)
    expect(await entry(6_000)).toEqual([{ kind: "PRINCIPAL", key: id, expiresAtMs: certificateEndMs }])
    expect(await locked(certificateEndMs + 1_000, 5_000)).toBe(true)
    expect(await entry(6_000)).toEqual([{ kind: "PRINCIPAL", key: id, expiresAtMs: certificateEndMs + 1_000 }])
  })

  test("a deactivated principal may be reactivated for 30 days, without its revoked credentials", async () => {
    const [ada, bob] = [await putUser(), await putUser()]
    const deactivatedAt = async () => {
      const query = opened.db.selectFrom("principal").select("deactivated_at").where("id", "=", ada.person.principal.id)
      return (await query.executeTakeFirstOrThrow()).deactivated_at?.getTime() ?? null
    }
    await store.transaction(async (tx) => {
      const [{ id: adaId }, { id: bobId }] = [ada.person.principal, bob.person.principal]
      expect(await tx.principals.reactivate(adaId, 5_000)).toBe(false)
      await tx.principals.end(bobId, "SUSPENDED", 5_000)
      expect(await tx.principals.reactivate(bobId, 5_001)).toBe(false)
      await tx.principals.end(bobId, "DEACTIVATED", 6_000)
      await tx.principals.end(adaId, "DEACTIVATED", 5_000)
      expect(await tx.principals.reactivate(bobId, 6_000 + reactivationMs)).toBe(false)
      expect(await tx.principals.reactivate(bobId, 6_000 + reactivationMs - 1)).toBe(true)
    })
    expect(await deactivatedAt()).toBe(5_000)
    await store.transaction((tx) => tx.principals.reactivate(ada.person.principal.id, 7_000))
    expect(await deactivatedAt()).toBeNull()
    const back = await ada.state()
    expect(back).toMatchObject({ principal: "ACTIVE", session: "REVOKED", pat: "PRINCIPAL_ENDED" })
    expect(back.revoked.toSorted()).toEqual(["CREDENTIAL", "PRINCIPAL before", "SESSION"])
  })

  test("a revocation is stored until the later of its expiries, and found by key", async () => {
    const key = freshId("jti")
    const entry = (expiresAtMs: number) => ({ kind: "TOKEN", key, expiresAtMs }) as const
    await store.transaction(async (tx) => {
      await tx.revocations.add([])
      await tx.revocations.add([entry(9_000), entry(8_000), entry(9_500)])
      await tx.revocations.add([entry(7_000)])
      expect(await tx.revocations.find([key, "other"], 9_499)).toEqual([entry(9_500)])
      expect(await tx.revocations.find([key], 9_500)).toEqual([])
      expect(await tx.revocations.find([], 0)).toEqual([])
    })
  })

  test("a client's assertion is accepted once; another client may use the same jti", async () => {
    const [client, other, jti] = [freshId("sac"), freshId("sac"), freshId("jti")]
    await store.transaction(async (tx) => {
      expect(await tx.assertionUses.use(client, jti, 9_000)).toBe(true)
      expect(await tx.assertionUses.use(client, jti, 9_000)).toBe(false)
      expect(await tx.assertionUses.use(other, jti, 9_000)).toBe(true)
    })
  })
})

describeOnPostgres("the end of a principal that meets others", () => {
  test("a token or session that a concurrent transaction inserts is revoked too", async () => {
    const opened = await openTestStore("postgres", { maxConnections: 4 })
    await putApp(opened.store)
    const person = await putPerson(opened.store)
    const pat = newPat(person)
    const session = newSession(person)
    const [locked, isWaiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const making = opened.store.transaction(async (tx) => {
      await tx.principals.lock(person.principal.id)
      locked.resolve()
      await isWaiting.promise
      await tx.pats.insert(pat)
      await tx.sessions.insert(session)
    })
    await locked.promise
    const ending = opened.store.transaction((tx) => tx.principals.end(person.principal.id, "SUSPENDED", 5_000))
    await untilWaiting(opened.db)
    isWaiting.resolve()
    await Promise.all([making, ending])
    await opened.store.transaction(async (tx) => {
      expect((await tx.pats.lock(pat.id))?.revokeReason).toBe("PRINCIPAL_ENDED")
      expect((await tx.sessions.find(session.id))?.status).toBe("REVOKED")
    })
    await opened.close()
  })

  test("of twenty concurrent uses of one assertion, one is accepted", async () => {
    const opened = await openTestStore("postgres", { maxConnections: 20 })
    const jti = freshId("jti")
    const uses = await Promise.all(
      Array.from({ length: 20 }, () => opened.store.transaction((tx) => tx.assertionUses.use("client", jti, 9_000))),
    )
    expect(uses.filter(Boolean)).toHaveLength(1)
    await opened.close()
  })
})
