import { newId } from "@signet/kernel/ids"
import type { Store } from "@signet/kernel/ports"
import { skewSeconds } from "@signet/kernel/token/claims"
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import { isLong } from "../../../../test/support/effort.ts"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { sweep } from "../sweep.ts"
import { newPat, newSecret, putService } from "../testing/machines.ts"
import { app, freshId, newSession, newToken, putApp, putPerson, putSession } from "../testing/people.ts"

const day = 86_400_000

describeOnEachStore("sessions and refresh tokens", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  test("a session and its token are stored unchanged", async () => {
    const person = await putPerson(store)
    const session = newSession(person, {
      tenantId: freshId("ten"),
      amr: ["IDP_A", 'odd "one", {two}\\', ""],
      device: { deviceId: "d", label: "l", os: "o", appVersion: "1" },
      userAgent: "agent",
      cookieMode: true,
      createdAtMs: 1_700_000_000_123,
      lastRefreshedAtMs: 1_700_000_000_999,
    })
    const token = newToken(session, {
      retryKeyHash: new Uint8Array(32),
      successorSealed: Uint8Array.of(0, 255),
      usedAtMs: 3,
    })
    await store.transaction(async (tx) => {
      await tx.sessions.insert(session)
      await tx.refreshTokens.insert(token)
      expect(await tx.sessions.find(session.id)).toStrictEqual(session)
      expect(await tx.sessions.lock(session.id)).toStrictEqual(session)
      expect(await tx.refreshTokens.find([token.tokenHash])).toStrictEqual(token)
    })
  })

  test("a token is found by any of its hashes, and so is its session", async () => {
    const { session, token } = await putSession(store)
    const hashes = [new Uint8Array(32).fill(3), token.tokenHash]
    await store.transaction(async (tx) => {
      expect(await tx.sessions.lockByRefreshToken(hashes)).toStrictEqual(session)
      expect(await tx.refreshTokens.find(hashes)).toStrictEqual(token)
      expect(await tx.sessions.lockByRefreshToken([new Uint8Array(32).fill(3)])).toBeUndefined()
      expect(await tx.refreshTokens.find([])).toBeUndefined()
      expect(await tx.sessions.lock(freshId("ses"))).toBeUndefined()
    })
  })

  test("rotation marks the token, stores the data of a retry, and inserts the successor", async () => {
    const { session, token } = await putSession(store)
    const successor = newToken(session, { previousTokenId: token.id })
    const idleExpiresAtMs = 99_000
    const change = { nowMs: 5_000, retryKeyHash: new Uint8Array(32).fill(4), successorSealed: Uint8Array.of(1, 2) }
    await store.transaction((tx) => tx.refreshTokens.rotate(token.id, { ...change, idleExpiresAtMs }, successor))
    const rotateNext = (nowMs: number, previousTokenId: typeof token.id, next: typeof token) =>
      store.transaction((tx) =>
        tx.refreshTokens.rotate(
          previousTokenId,
          { nowMs, idleExpiresAtMs, retryKeyHash: null, successorSealed: null },
          next,
        ),
      )
    await store.transaction(async (tx) => {
      const { nowMs, ...kept } = change
      const rotated = { ...token, usedAtMs: nowMs, rotatedAtMs: nowMs, ...kept }
      expect(await tx.refreshTokens.find([token.tokenHash])).toStrictEqual(rotated)
      expect(await tx.refreshTokens.find([successor.tokenHash])).toStrictEqual(successor)
    })
    const third = newToken(session, { previousTokenId: successor.id })
    await rotateNext(6_000, successor.id, third)
    await rotateNext(7_000, third.id, newToken(session, { previousTokenId: third.id }))
    await store.transaction(async (tx) => {
      const first = await tx.refreshTokens.find([token.tokenHash])
      expect(first).toMatchObject({ confirmedAtMs: 6_000, retryKeyHash: null, successorSealed: null })
      expect((await tx.refreshTokens.find([successor.tokenHash]))?.confirmedAtMs).toBe(7_000)
      expect((await tx.refreshTokens.find([third.tokenHash]))?.confirmedAtMs).toBeNull()
      const refreshed = { ...session, rotation: 3, lastRefreshedAtMs: 7_000, idleExpiresAtMs }
      expect(await tx.sessions.find(session.id)).toStrictEqual(refreshed)
    })
  })

  test("a token never gets a second successor, and a revoked one none", async () => {
    const { session, token } = await putSession(store)
    const change = { nowMs: 5_000, idleExpiresAtMs: 99_000, retryKeyHash: null, successorSealed: null }
    const rotate = () =>
      store.transaction((tx) =>
        tx.refreshTokens.rotate(token.id, change, newToken(session, { previousTokenId: token.id })),
      )
    await rotate()
    await expect(rotate()).rejects.toThrow("without its session's lock")
    const sibling = newToken(session, { previousTokenId: token.id })
    await expect(store.transaction((tx) => tx.refreshTokens.insert(sibling))).rejects.toMatchObject({ code: "23505" })

    const other = await putSession(store)
    await store.transaction((tx) => tx.sessions.end(other.session.id, "REVOKED", "logout", 6_000))
    const successor = newToken(other.session, { previousTokenId: other.token.id })
    const late = store.transaction((tx) => tx.refreshTokens.rotate(other.token.id, change, successor))
    await expect(late).rejects.toThrow("without its session's lock")
    expect(await store.transaction((tx) => tx.sessions.find(other.session.id))).toMatchObject({
      rotation: 0,
      lastRefreshedAtMs: null,
    })
  })

  test("ending a session revokes its tokens, once", async () => {
    const { session, token } = await putSession(store)
    await store.transaction(async (tx) => {
      expect(await tx.sessions.end(session.id, "COMPROMISED", "refresh_reuse", 8_000)).toBe(true)
      expect(await tx.sessions.end(session.id, "REVOKED", "logout", 9_000)).toBe(false)
      expect(await tx.sessions.end(freshId("ses"), "REVOKED", "logout", 9_000)).toBe(false)
      const ended = { ...session, status: "COMPROMISED", revokedAtMs: 8_000, revokeReason: "refresh_reuse" }
      expect(await tx.sessions.find(session.id)).toStrictEqual(ended)
      expect(await tx.refreshTokens.find([token.tokenHash])).toStrictEqual({ ...token, revokedAtMs: 8_000 })
    })
  })

  test("ending all sessions keeps the excepted one and those of others", async () => {
    const { person, session } = await putSession(store)
    const [second, third] = [newSession(person), newSession(person)]
    const stranger = await putSession(store)
    await store.transaction(async (tx) => {
      await tx.sessions.insert(second)
      await tx.sessions.insert(third)
      const ended = await tx.sessions.endAll(person.identity.id, session.id, "logout_all", 9_000)
      expect([...ended].sort()).toEqual([second.id, third.id].sort())
      expect(await tx.sessions.endAll(person.identity.id, null, "logout_all", 9_000)).toEqual([session.id])
      expect(await tx.sessions.endAll(person.identity.id, null, "logout_all", 9_000)).toEqual([])
      expect((await tx.sessions.find(stranger.session.id))?.status).toBe("ACTIVE")
    })
  })

  test("active sessions are listed newest first, page by page, without ended and expired ones", async () => {
    const person = await putPerson(store)
    const at = (createdAtMs: number, change = {}) => newSession(person, { createdAtMs, ...change })
    const twins = [at(3_000), at(3_000)].sort((a, b) => (a.id < b.id ? 1 : -1))
    const listed = [at(4_000), ...twins, at(2_000)]
    const left = [
      at(5_000, { idleExpiresAtMs: 10_000 }),
      at(5_000, { absoluteExpiresAtMs: 10_000 }),
      at(5_000, { status: "REVOKED", revokedAtMs: 1 }),
    ]
    await store.transaction(async (tx) => {
      for (const session of [...listed, ...left]) await tx.sessions.insert(session)
      const page = (size: number, before: { createdAtMs: number; id: (typeof left)[0]["id"] } | null) =>
        tx.sessions.listActive(
          { principalId: person.principal.id, appId: app.id, tenantId: null, contextId: null },
          10_000,
          { size, before },
        )
      expect(await page(10, null)).toStrictEqual(listed)
      const first = await page(2, null)
      expect(first).toStrictEqual(listed.slice(0, 2))
      expect(await page(2, first[1] ?? null)).toStrictEqual(listed.slice(2))
      expect(await page(2, listed[3] ?? null)).toEqual([])
    })
  })

  test("an audit event is stored unchanged", async () => {
    const id = freshId("aud")
    await store.transaction((tx) =>
      tx.audit.append({
        id,
        occurredAtMs: 1_700_000_000_001,
        kind: "login.failed",
        outcome: "DENIED",
        reason: "NONCE_MISMATCH",
        appId: app.id,
        tenantId: null,
        contextId: null,
        actorPrincipalId: null,
        subjectPrincipalId: null,
        subjectIdentityId: null,
        sessionId: null,
        target: { type: "provider_account", id: "pac" },
        request: { id: "r1", route: "x/y", ipTruncated: "192.0.2.0" },
      }),
    )
    const rows = await opened.db.selectFrom("audit_event").selectAll().where("id", "=", id).execute()
    expect(rows).toMatchObject([
      {
        kind: "login.failed",
        outcome: "DENIED",
        reason: "NONCE_MISMATCH",
        app_id: app.id,
        target_type: "provider_account",
        target_id: "pac",
        request_id: "r1",
        request_route: "x/y",
        key_owner: expect.stringMatching(/^day:/),
        personal_sealed: expect.any(Uint8Array),
        stamp: expect.any(Uint8Array),
      },
    ])
    expect(rows[0]?.occurred_at.getTime()).toBe(1_700_000_000_001)
  })

  test.each([
    ["session", "status", "EXPIRED"],
    ["session", "revoked_at", "2026-01-01"],
    ["refresh_token", "token_hash", Buffer.alloc(31)],
    ["refresh_token", "retry_key_hash", Buffer.alloc(33)],
  ])("the table %s refuses a %s of %j", async (table, column, value) => {
    await putSession(store)
    const update = sql`update ${sql.table(table)} set ${sql.ref(column)} = ${value}`.execute(opened.db)
    await expect(update).rejects.toMatchObject({ code: "23514" })
  })
})

describeOnEachStore("the sweep", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  test.runIf(isLong)("deletes expired records, and no others", async () => {
    const nowMs = 1_000 * day
    const [old, living] = [{ absoluteExpiresAtMs: nowMs - 90 * day }, { absoluteExpiresAtMs: nowMs - 90 * day + 1 }]
    const gone = await putSession(store, old)
    const kept = await putSession(store, living)
    const { session } = kept
    // Rotated a retry window ago, rotated just now, and confirmed.
    const windowMs = app.settings.retryWindowSeconds * 1_000
    const sealed = { successorSealed: Uint8Array.of(1), retryKeyHash: new Uint8Array(32), expiresAtMs: nowMs }
    const ended = newToken(session, { ...sealed, rotatedAtMs: nowMs - windowMs })
    const open = newToken(session, { ...sealed, rotatedAtMs: nowMs - windowMs + 1 })
    const confirmed = newToken(session, { ...sealed, rotatedAtMs: nowMs, confirmedAtMs: nowMs })
    const expired = newToken(session, { expiresAtMs: nowMs - 90 * day })
    await store.transaction(async (tx) => {
      for (const token of [ended, open, confirmed, expired]) await tx.refreshTokens.insert(token)
      for (let i = 0; i < 1_500; i++) await tx.idTokenUses.use(hashOf(i), i < 1_400 ? nowMs : nowMs + 1)
    })

    const { account } = await putService(store)
    await store.transaction(async (tx) => {
      for (const expiresAtMs of [nowMs, nowMs + 1]) {
        const keptUntilMs = expiresAtMs - skewSeconds * 1_000
        await tx.revocations.add([{ kind: "TOKEN", key: `jti ${expiresAtMs}`, expiresAtMs: keptUntilMs }])
        await tx.assertionUses.use("client", `jti ${expiresAtMs}`, expiresAtMs)
      }
      for (const expiresAtMs of [nowMs - 90 * day, nowMs - 90 * day + 1]) {
        await tx.pats.insert(newPat(gone.person, { expiresAtMs }))
        await tx.serviceAccounts.insertSecret(newSecret(account, { expiresAtMs }))
      }
    })

    await store.transaction(async (tx) => {
      for (const [i, expiresAtMs] of [nowMs, nowMs + 1].entries()) {
        const id = newId("mlr", i, new Uint8Array(10))
        const emailHash = new Uint8Array(32)
        await tx.magicLinks.insert({ id, emailHash, appId: app.id, codeChallenge: null, expiresAtMs })
      }
    })

    const key = new Uint8Array(32)
    for (const [i, countedAtMs] of [nowMs - 1_000, nowMs].entries()) {
      await store.limits.take([{ key: key.fill(i), window: { limit: 1, seconds: 1 } }], [], countedAtMs)
      const policy = { failures: 2, seconds: 1, lockSeconds: 1, mostLockSeconds: 1 }
      await store.limits.fail(key, policy, countedAtMs)
    }

    // The first tokens of both sessions expired long ago.
    const swept = {
      idTokenUses: 1_400,
      magicLinks: 1,
      sealedSuccessors: 2,
      refreshTokens: 3,
      sessions: 1,
      revocations: 1,
      assertionUses: 1,
      pats: 1,
      secrets: 1,
      limits: 2,
    }
    const nothing = Object.fromEntries(Object.keys(swept).map((kind) => [kind, 0]))
    expect(await sweep(opened.db, nowMs)).toEqual(swept)
    expect(await sweep(opened.db, nowMs)).toEqual(nothing)
    await store.transaction(async (tx) => {
      expect(await tx.sessions.find(gone.session.id)).toBeUndefined()
      expect(await tx.sessions.find(session.id)).toBeDefined()
      expect(await tx.refreshTokens.find([expired.tokenHash])).toBeUndefined()
      expect(await tx.refreshTokens.find([open.tokenHash])).toStrictEqual(open)
      for (const token of [ended, confirmed]) {
        const erased = { ...token, successorSealed: null, retryKeyHash: null }
        expect(await tx.refreshTokens.find([token.tokenHash])).toStrictEqual(erased)
      }
      expect(await tx.idTokenUses.use(hashOf(1_450), nowMs)).toBe(false)
    })
  })
})

function hashOf(i: number): Uint8Array {
  const hash = new Uint8Array(32)
  new DataView(hash.buffer).setUint32(0, i)
  return hash
}
