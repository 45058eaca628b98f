import { randomBytes } from "node:crypto"
import type { Ask } from "@signet/kernel/limits/ports"
import type { RefreshRotation, Store } from "@signet/kernel/ports"
import type { RefreshToken, Session } from "@signet/kernel/records"
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"
import { freshAsk, nowMs, plainEvent } from "../testing/calls.ts"
import { freshId, putApp, putSession } from "../testing/people.ts"

const countingOf = (ask: Ask) => ({ asks: [ask], locks: [], nowMs })

const rotationOf = (session: Session, token: RefreshToken): RefreshRotation => ({
  tokenId: token.id,
  nowMs,
  idleExpiresAtMs: nowMs + 1_000,
  retryKeyHash: randomBytes(32),
  successorSealed: randomBytes(48),
  successor: {
    ...token,
    id: freshId("rtk"),
    sessionId: session.id,
    tokenHash: new Uint8Array(randomBytes(32)),
    previousTokenId: token.id,
  },
})

/** An event without personal data, which needs no key. */
const eventOf = ({ id, appId }: Session) =>
  plainEvent({ kind: "session.refreshed", appId, sessionId: id, target: null })

/** A session with the versions that a refresh reads. */
async function putReady(store: Store) {
  const { session, token } = await putSession(store)
  const { versions } = await store.transaction((tx) => tx.refreshTokens.findWithFacts([token.tokenHash], session))
  return { session, token, versions }
}
type Ready = Awaited<ReturnType<typeof putReady>>

/** Rotates as the facts were read. */
function rotate(store: Store, { session, token, versions }: Ready) {
  const [rotation, event] = [rotationOf(session, token), eventOf(session)]
  const answer = store.refreshes.countAndRotate(countingOf(freshAsk()), { session, versions }, rotation, event)
  return { rotation, event, answer }
}

describeOnEachStore("refreshes of several sessions at once", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  test("find their own sessions and facts, and nothing for an unknown token", async () => {
    const sessions = [await putSession(store), await putSession(store)]
    const ask = freshAsk()
    await store.limits.take([ask], [], nowMs)
    const hashes = [...sessions.map(({ token }) => [randomBytes(32), token.tokenHash]), [randomBytes(32)], []]
    const found = await Promise.all(hashes.map((of) => store.refreshes.countAndFind(countingOf(ask), of)))
    expect(found.map(({ refresh }) => refresh?.session)).toEqual([
      ...sessions.map(({ session }) => session),
      undefined,
      undefined,
    ])
    for (const [i, { session, token }] of sessions.entries()) {
      const expected = await store.transaction((tx) => tx.refreshTokens.findWithFacts([token.tokenHash], session))
      expect(found[i]?.refresh?.facts).toEqual(expected)
    }
    expect(found.map(({ counted }) => counted[0]?.fullAtMs)).toEqual([2, 3, 4, 5].map((call) => nowMs + call * 12_000))
  })

  test("rotate each session once, with its event, and no session that has changed", async () => {
    const [one, two, ended, moved] = [
      await putReady(store),
      await putReady(store),
      await putReady(store),
      await putReady(store),
    ]
    await store.transaction((tx) => tx.sessions.end(ended.session.id, "REVOKED", "logout", nowMs))
    const calls = [
      rotate(store, one),
      rotate(store, two),
      // Another process refreshed `one` with the same token.
      rotate(store, one),
      rotate(store, ended),
      rotate(store, { ...moved, versions: { ...moved.versions, principal: moved.versions.principal + 1 } }),
      rotate(store, { ...moved, versions: { ...moved.versions, policy: moved.versions.policy + 1 } }),
      rotate(store, { ...moved, session: { ...moved.session, rotation: 3 } }),
    ]
    const answers = await Promise.all(calls.map(({ answer }) => answer))
    expect(answers.map(({ isRotated }) => isRotated)).toEqual([true, true, ...Array(5).fill(false)])
    const stored = await store.transaction((tx) => tx.audit.storedIds(calls.map(({ event }) => event.id)))
    expect(stored).toEqual(new Set(calls.slice(0, 2).map(({ event }) => event.id)))
    await store.transaction(async (tx) => {
      for (const [i, { session, token }] of [one, two].entries()) {
        const { rotation } = calls[i] ?? expect.unreachable()
        expect(await tx.refreshTokens.find([rotation.successor.tokenHash])).toEqual(rotation.successor)
        expect(await tx.refreshTokens.find([token.tokenHash])).toMatchObject({ usedAtMs: nowMs, rotatedAtMs: nowMs })
        expect(await tx.sessions.find(session.id)).toMatchObject({
          rotation: session.rotation + 1,
          lastRefreshedAtMs: nowMs,
          idleExpiresAtMs: nowMs + 1_000,
        })
      }
      for (const { session, token } of [ended, moved]) {
        expect(await tx.refreshTokens.find([token.tokenHash])).toMatchObject({ rotatedAtMs: null })
        expect((await tx.sessions.find(session.id))?.rotation).toBe(session.rotation)
      }
    })
  })

  test("confirm the previous rotation of their own family only", async () => {
    const [one, two] = [await putReady(store), await putReady(store)]
    const first = [rotate(store, one), rotate(store, two)]
    await Promise.all(first.map(({ answer }) => answer))
    const next = { ...one, session: { ...one.session, rotation: 1 }, token: first[0]?.rotation.successor ?? one.token }
    expect(await rotate(store, next).answer).toMatchObject({ isRotated: true })
    const confirmed = async ({ token }: Ready) =>
      (await store.transaction((tx) => tx.refreshTokens.find([token.tokenHash])))?.confirmedAtMs
    expect([await confirmed(one), await confirmed(two)]).toEqual([nowMs, null])
  })
})

describeOnPostgres("a refresh beside a locked session", () => {
  let opened: TestStore
  beforeAll(async () => {
    opened = await openTestStore("postgres")
    await putApp(opened.store)
  })
  afterAll(() => opened.close())

  test("does not wait for it", async () => {
    const { store, db } = opened
    const [locked, free] = [await putReady(store), await putReady(store)]
    let hasEnded = false
    const waiting = await db.transaction().execute(async (holder) => {
      await sql`select from session where id = ${locked.session.id} for update`.execute(holder)
      const { answer } = rotate(store, locked)
      answer.then(() => {
        hasEnded = true
      })
      expect(await rotate(store, free).answer).toMatchObject({ isRotated: true })
      expect(hasEnded).toBe(false)
      return { answer }
    })
    await waiting.answer
    expect(hasEnded).toBe(true)
  })
})
