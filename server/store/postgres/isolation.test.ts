// Runs each query next to rows that differ in one column from the requested row, so that a missing condition returns a
// wrong row.
import type { Store, Tx } from "@signet/kernel/ports"
import type { RefreshToken, Session } from "@signet/kernel/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../test/support/postgres.ts"
import { putOwnApp } from "./testing/administration.ts"
import { app, freshId, newSession, newToken, type Person, putApp, putPerson, putSession } from "./testing/people.ts"

const nowMs = 5_000
const page = { size: 9, before: null }

describeOnEachStore("a query about sessions, tokens and revocations answers for its own rows", (kind) => {
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

  test("active sessions: of one principal in one app", async () => {
    const [ada, bob] = [await putPerson(store), await putPerson(store)]
    await store.transaction(async (tx) => {
      const other = await putOwnApp(tx)
      const own = newSession(ada)
      for (const each of [own, newSession(ada, { appId: other.id }), newSession(bob)]) await tx.sessions.insert(each)
      const listed = await tx.sessions.listActive(
        { principalId: ada.principal.id, appId: app.id, tenantId: null, contextId: null },
        nowMs,
        page,
      )
      expect(listed.map(({ id }) => id)).toEqual([own.id])
    })
  })

  test("the session of a device: of one principal, app and tenant", async () => {
    const [ada, bob] = [await putPerson(store), await putPerson(store)]
    const [tenantId, deviceId] = [freshId("ten"), freshId("dev")]
    await store.transaction(async (tx) => {
      const other = await putOwnApp(tx)
      const place = { appId: app.id, tenantId, boundDeviceId: deviceId }
      const own = newSession(ada, place)
      const neighbours = [
        newSession(bob, place),
        newSession(ada, { ...place, appId: other.id }),
        newSession(ada, { ...place, tenantId: freshId("ten") }),
        newSession(ada, { ...place, tenantId: null }),
        newSession(ada, { ...place, boundDeviceId: freshId("dev") }),
        newSession(ada, { ...place, boundDeviceId: null }),
      ]
      for (const each of [...neighbours, own]) await tx.sessions.insert(each)
      const next = freshId("dev")
      const bind = { principalId: ada.principal.id, appId: app.id, tenantId }
      for (const each of neighbours.slice(0, 4)) await tx.sessions.bindDevice(each.id, next, bind)
      const bound = async ({ id }: Session) => (await tx.sessions.find(id))?.boundDeviceId
      for (const each of neighbours.slice(0, 4)) expect(await bound(each)).toBe(deviceId)
      const ended = await tx.endings.endByDevices({ ...bind, deviceIds: [deviceId], except: null }, "x", nowMs)
      expect(ended).toEqual([own.id])
    })
  })

  test("ending a session keeps the earlier revocation time of its token", async () => {
    const { session } = await putSession(store)
    await store.transaction(async (tx) => {
      const early = newToken(session, { revokedAtMs: 3_000 })
      await tx.refreshTokens.insert(early)
      await tx.sessions.end(session.id, "REVOKED", "logout", nowMs)
      expect((await tx.refreshTokens.find([early.tokenHash]))?.revokedAtMs).toBe(3_000)
    })
  })

  test("a rotation prolongs neither an ended session nor a revoked token", async () => {
    const change = { nowMs, idleExpiresAtMs: 99_000, retryKeyHash: null, successorSealed: null }
    const rotate = (tx: Tx, { id }: RefreshToken, session: Session) =>
      tx.refreshTokens.rotate(id, change, newToken(session, { previousTokenId: id }))
    const over = { status: "REVOKED", revokedAtMs: 2, revokeReason: "logout" } as const
    const { session, token } = await putSession(store, over)
    await store.transaction((tx) => rotate(tx, token, session))
    expect(await store.transaction((tx) => tx.sessions.find(session.id))).toStrictEqual(session)

    const alive = await putSession(store)
    const revoked = newToken(alive.session, { revokedAtMs: 3_000 })
    await store.transaction((tx) => tx.refreshTokens.insert(revoked))
    const late = store.transaction((tx) => rotate(tx, revoked, alive.session))
    await expect(late).rejects.toThrow("without its session's lock")
  })

  test("memberships and versions: of one principal in one app, for look-ups, refreshes and liveness", async () => {
    const { person: ada, session, token } = await putSession(store)
    const bob = await putPerson(store)
    const [tenantId, contextId] = [freshId("ten"), freshId("ctx")]
    const at = { ...session, tenantId, contextId }
    const outer = { status: "SUSPENDED" } as const
    await store.transaction(async (tx) => {
      const ended = await join(tx, ada, { tenantId, contextId, status: "REMOVED" })
      const inner = await join(tx, ada, { tenantId, contextId, status: "SUSPENDED" })
      const around = await join(tx, ada, { tenantId, status: "SUSPENDED" })
      const other = await putOwnApp(tx)
      // Newer than all of them, and active.
      for (const place of [{}, { tenantId }, { tenantId, contextId }]) {
        await join(tx, ada, { ...place, appId: other.id })
        await join(tx, bob, place)
      }
      await tx.members.update({ ...ada.membership, ...outer })
      const own = { ...ada.membership, ...outer }
      const { principalId, appId } = session
      const find = (...place: [typeof tenantId | null, typeof contextId | null]) =>
        tx.identities.findMembership(principalId, appId, ...place)
      expect(await find(null, null)).toStrictEqual(own)
      expect(await find(tenantId, null)).toStrictEqual(around)
      expect(await find(tenantId, contextId)).toStrictEqual(inner)
      const found = await tx.identities.findMemberships(principalId, appId)
      // Those of one millisecond come in any order.
      expect(found.map(({ id }) => id).sort()).toEqual([own, inner, around].map(({ id }) => id).sort())
      expect(found).not.toContainEqual(ended)
      expect(await tx.refreshTokens.findWithFacts([token.tokenHash], at)).toMatchObject({ outer: own, inner, around })
    })

    await opened.db
      .insertInto("policy_version")
      .values({ app_id: app.id, version: 40, min_version: 30 })
      .onConflict((conflict) => conflict.column("app_id").doUpdateSet({ version: 40, min_version: 30 }))
      .execute()
    const raised = { version: 70, min_version: 60 }
    await opened.db
      .updateTable("authority_version")
      .set(raised)
      .where("principal_id", "=", session.principalId)
      .where("app_id", "=", app.id)
      .execute()
    const versions = { principal: 70, policy: 40 }
    const other = await store.transaction(async (tx) => {
      const elsewhere = await putOwnApp(tx)
      expect((await tx.refreshTokens.findWithFacts([token.tokenHash], session)).versions).toEqual(versions)
      expect(await tx.authorities.find(session.principalId, app.id)).toEqual(versions)
      // In an app without versions.
      const stranger = { ...session, appId: elsewhere.id }
      expect((await tx.refreshTokens.findWithFacts([token.tokenHash], stranger)).versions).toEqual({
        principal: 0,
        policy: 0,
      })
      expect(await tx.authorities.find(session.principalId, elsewhere.id)).toEqual({ principal: 0, policy: 0 })
      const nobody = { ...session, principalId: freshId("prn") }
      expect((await tx.refreshTokens.findWithFacts([token.tokenHash], nobody)).versions).toEqual({
        principal: 0,
        policy: 40,
      })
      expect(await tx.authorities.find(nobody.principalId, app.id)).toEqual({ principal: 0, policy: 40 })
      return elsewhere.id
    })

    const asked = {
      principalId: session.principalId,
      sessionId: session.id,
      appId: app.id,
      ...{ actorId: null, credentialId: null, tokenId: null, tenantId: null, contextId: null, issuedAtMs: 4, nowMs },
    }
    const own = await opened.liveness.find(asked)
    expect(own).toMatchObject({ membership: "SUSPENDED", current: versions, minimum: { principal: 60, policy: 30 } })
    const elsewhere = await opened.liveness.find({ ...asked, appId: other })
    expect(elsewhere).toMatchObject({ current: { principal: 0, policy: 0 }, minimum: { principal: 0, policy: 0 } })
    expect(elsewhere.membership).toBeUndefined()
    const nobody = await opened.liveness.find({ ...asked, principalId: freshId("prn") })
    expect(nobody).toMatchObject({ current: { principal: 0, policy: 40 }, minimum: { principal: 0, policy: 30 } })
    expect(nobody.membership).toBeUndefined()
  })

  test("revocations of a token: of its own kinds and keys, before their expiry", async () => {
    const [principalId, actorId, sessionId] = [freshId("prn"), freshId("prn"), freshId("ses")]
    const [tenantId, contextId, appId] = [freshId("ten"), freshId("ctx"), freshId("app")]
    const [credentialId, tokenId, issuedAtMs] = ["c-1", "t-1", 4_000]
    const of = { principalId, actorId, sessionId, appId, tenantId, contextId, credentialId, tokenId }
    const find = async () => (await opened.liveness.find({ ...of, issuedAtMs, nowMs })).revoked
    const table = [
      // kind, key, issued_before, expires_at, expected kinds
      ["PRINCIPAL", principalId, null, nowMs + 1, ["PRINCIPAL"]],
      ["PRINCIPAL", principalId, null, nowMs, []],
      ["PRINCIPAL", principalId, issuedAtMs + 1, nowMs + 1, ["TOKEN"]],
      ["PRINCIPAL", principalId, issuedAtMs, nowMs + 1, []],
      ["PRINCIPAL", principalId, issuedAtMs + 1, nowMs, []],
      ["PRINCIPAL", actorId, issuedAtMs + 1, nowMs + 1, ["TOKEN"]],
      ["PRINCIPAL", actorId, issuedAtMs, nowMs + 1, []],
      // The actor's own status covers this.
      ["PRINCIPAL", actorId, null, nowMs + 1, []],
      ["SESSION", sessionId, null, nowMs + 1, ["SESSION"]],
      ["CREDENTIAL", credentialId, null, nowMs + 1, ["CREDENTIAL"]],
      ["TOKEN", tokenId, null, nowMs + 1, ["TOKEN"]],
      ["APP", appId, issuedAtMs + 1, nowMs + 1, ["TOKEN"]],
      ["APP", appId, issuedAtMs, nowMs + 1, []],
      ["TENANT", tenantId, issuedAtMs + 1, nowMs + 1, ["TOKEN"]],
      ["CONTEXT", contextId, issuedAtMs + 1, nowMs + 1, ["TOKEN"]],
      ["APP", tenantId, issuedAtMs + 1, nowMs + 1, []],
      ["TENANT", appId, issuedAtMs + 1, nowMs + 1, []],
      ["ISSUER_EPOCH", "all", issuedAtMs + 1, nowMs + 1, ["TOKEN"]],
      ["ISSUER_EPOCH", "all", issuedAtMs, nowMs + 1, []],
    ] as const
    for (const [kind, key, issuedBeforeMs, expiresAtMs, told] of table) {
      const entry = { kind, key, app_id: "" as const, min_version: null, expires_at: new Date(expiresAtMs) }
      const issued_before = issuedBeforeMs === null ? null : new Date(issuedBeforeMs)
      await opened.db
        .insertInto("revocation")
        .values({ ...entry, issued_before })
        .execute()
      expect([kind, key, issuedBeforeMs, expiresAtMs, await find()]).toEqual([
        kind,
        key,
        issuedBeforeMs,
        expiresAtMs,
        told,
      ])
      await opened.db.deleteFrom("revocation").where("kind", "=", kind).where("key", "=", key).execute()
    }
  })

  test("a revocation is lifted by kind and key, and an earlier lift keeps its time", async () => {
    const [one, two, appId] = [freshId("prn"), freshId("prn"), freshId("app")]
    const entries = [
      { kind: "PRINCIPAL", key: one, expiresAtMs: 90_000 },
      { kind: "PRINCIPAL", key: two, expiresAtMs: 90_000 },
      { kind: "APP", key: appId, expiresAtMs: 90_000 },
    ] as const
    await store.transaction(async (tx) => {
      await tx.revocations.add(entries)
      await tx.revocations.lift({ kind: "PRINCIPAL", key: one }, 6_000)
      await tx.revocations.lift({ kind: "PRINCIPAL", key: one }, 8_000)
      await tx.revocations.lift({ kind: "TENANT", key: appId as never }, 8_000)
      expect((await tx.revocations.find([one, two, appId], nowMs)).toSorted(byKey)).toEqual(
        [{ ...entries[0], issuedBeforeMs: 6_000 }, entries[1], entries[2]].toSorted(byKey),
      )
    })
  })
})

const byKey = (a: { readonly key: string }, b: { readonly key: string }) => (a.key < b.key ? -1 : 1)
