// Concurrent transactions, which one session alone never shows: at READ COMMITTED, as the program runs, and at
// SERIALIZABLE, for engines that have nothing else.
import { Refused } from "@signet/kernel/errors"
import type { RefreshToken, Session } from "@signet/kernel/records"
import { CompiledQuery, sql } from "kysely"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { testAuditLogDeps } from "../../../test/support/audit-log-deps.ts"
import { describeOnPostgres, openTestStore, type TestStore } from "../../../test/support/postgres.ts"
import { openPostgres } from "./open.ts"
import { retried } from "./retry.ts"
import { createStore } from "./store.ts"
import { sweep } from "./sweep.ts"
import { newToken, putApp, putSession } from "./testing/people.ts"

describeOnPostgres("concurrent transactions", () => {
  describe.each(["read committed", "serializable"] as const)("%s", (isolationLevel) => {
    let opened: TestStore
    beforeAll(async () => {
      opened = await openTestStore("postgres", { isolationLevel, maxConnections: 50 })
      await sql`alter database ${sql.ref(await nameOf(opened))} set default_transaction_isolation to ${sql.lit(isolationLevel)}`.execute(
        opened.db,
      )
      await putApp(opened.store)
    })
    afterAll(() => opened.close())

    /** A refresh as the handlers do it: lock the session, read the token, insert its successor. */
    const refresh = (session: Session, token: RefreshToken, nowMs: number): Promise<RefreshToken | "late"> =>
      opened.store.transaction(async (tx) => {
        const locked = await tx.sessions.lockByRefreshToken([token.tokenHash])
        const { token: found } = await tx.refreshTokens.findWithFacts([token.tokenHash], session)
        if (locked?.status !== "ACTIVE" || found === undefined || found.rotatedAtMs !== null) return "late"
        const successor = newToken(session, { previousTokenId: token.id })
        const change = { nowMs, idleExpiresAtMs: nowMs + 1, retryKeyHash: null, successorSealed: Uint8Array.of(1) }
        await tx.refreshTokens.rotate(token.id, change, successor)
        return successor
      })

    test("50 concurrent refreshes of one token make one successor", async () => {
      const { session, token } = await putSession(opened.store)
      const outcomes = await Promise.all(Array.from({ length: 50 }, () => refresh(session, token, 5_000)))
      expect(outcomes.filter((outcome) => outcome !== "late")).toHaveLength(1)
      const tokens = await tokensOf(opened, session)
      expect(tokens.filter((row) => row.rotated_at === null && row.revoked_at === null)).toHaveLength(1)
      expect(tokens).toHaveLength(2)
      expect((await opened.store.transaction((tx) => tx.sessions.find(session.id)))?.rotation).toBe(1)
    })

    test("a session that ends during a refresh has no active token", async () => {
      for (let round = 0; round < 20; round++) {
        const { person, session, token } = await putSession(opened.store)
        const ending =
          round % 2 === 0
            ? opened.store.transaction((tx) => tx.sessions.end(session.id, "REVOKED", "logout", 6_000))
            : opened.store.transaction((tx) => tx.sessions.endAll(person.identity.id, null, "logout_all", 6_000))
        await Promise.all([refresh(session, token, 5_000), ending, refresh(session, token, 5_000)])
        const tokens = await tokensOf(opened, session)
        expect(tokens.filter((row) => row.revoked_at === null)).toEqual([])
        expect(tokens.length).toBeGreaterThan(0)
      }
    })

    test("of 10 concurrent calls that end one session, one does", async () => {
      const { session } = await putSession(opened.store)
      const end = () => opened.store.transaction((tx) => tx.sessions.end(session.id, "REVOKED", "logout", 6_000))
      expect((await Promise.all(Array.from({ length: 10 }, end))).filter(Boolean)).toHaveLength(1)
    })

    test("sweeps and refreshes do not block each other", async () => {
      const all = await Promise.all(Array.from({ length: 8 }, () => putSession(opened.store)))
      const sweeps = Array.from({ length: 4 }, () => sweep(opened.db, 1))
      const outcomes = await Promise.all(all.map(({ session, token }) => refresh(session, token, 5_000)))
      await Promise.all(sweeps)
      expect(outcomes).not.toContain("late")
    })

    test("work that lost a deadlock is retried", async () => {
      const [one, other] = [await putSession(opened.store), await putSession(opened.store)]
      const both = Promise.withResolvers<void>()
      let [runs, locks] = [0, 0]
      const lockBoth = (first: Session, second: Session) =>
        opened.store.transaction(async (tx) => {
          runs++
          await tx.sessions.lock(first.id)
          if (++locks === 2) both.resolve()
          await both.promise
          await tx.sessions.lock(second.id)
          return "done"
        })
      const done = [lockBoth(one.session, other.session), lockBoth(other.session, one.session)]
      expect(await Promise.all(done)).toEqual(["done", "done"])
      // The repeated run may lock its first row before the other one gets it, and lose again.
      expect(runs).toBeGreaterThanOrEqual(3)
    })
  })

  test("work that failed to serialize is retried and sees the other's change", async () => {
    const opened = await openTestStore("postgres", { isolationLevel: "serializable" })
    await putApp(opened.store)
    const { session } = await putSession(opened.store)
    const met = Promise.withResolvers<void>()
    let [runs, arrived] = [0, 0]
    const work = () =>
      opened.store.transaction(async (tx) => {
        runs++
        const found = await tx.sessions.find(session.id)
        if (++arrived === 2) met.resolve()
        await met.promise
        await tx.sessions.end(session.id, "REVOKED", "logout", 5_000)
        return found?.status
      })
    const seen = await Promise.all([work(), work()])
    expect(seen.toSorted()).toEqual(["ACTIVE", "REVOKED"])
    expect(runs).toBe(3)
    await opened.close()
  })

  test("an unreachable database is refused as UNAVAILABLE", async () => {
    const { db, close } = openPostgres("postgres://postgres@127.0.0.1:1/none")
    const store = createStore(db, { audit: testAuditLogDeps() })
    const refused = store.transaction((tx) => tx.refreshTokens.find([]))
    await expect(refused).rejects.toSatisfy((error) => error instanceof Refused && error.reason === "UNAVAILABLE")
    expect(await store.isReady()).toBe(false)
    await close()
  })

  test("an idle transaction loses its lock before others stop waiting", async () => {
    const opened = await openTestStore("postgres", { statementSeconds: 0.3 })
    await putApp(opened.store)
    const { session } = await putSession(opened.store)
    const [locked, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const stopped = opened.store.transaction(async (tx) => {
      await tx.sessions.lock(session.id)
      locked.resolve()
      await taken.promise
      return tx.sessions.lock(session.id)
    })
    const isUnavailable = (error: unknown) => error instanceof Refused && error.reason === "UNAVAILABLE"
    const lost = expect(stopped).rejects.toSatisfy(isUnavailable)
    await locked.promise
    expect(await opened.store.transaction((tx) => tx.sessions.lock(session.id))).toMatchObject({ id: session.id })
    taken.resolve()
    await lost
    const slow = retried(() => sql`select pg_sleep(1)`.execute(opened.db))
    await expect(slow).rejects.toSatisfy(isUnavailable)
    await opened.close()
  })

  test("a lock timeout is refused as UNAVAILABLE", async () => {
    const opened = await openTestStore("postgres", { statementSeconds: 0.6 })
    await putApp(opened.store)
    const { session } = await putSession(opened.store)
    const locked = Promise.withResolvers<void>()
    let isOver = false
    const first = opened.store.transaction(async (tx) => {
      // The transaction runs statements, so the idle timeout does not end it.
      while (!isOver) {
        await tx.sessions.lock(session.id)
        locked.resolve()
      }
    })
    await locked.promise
    const second = opened.store.transaction((tx) => tx.sessions.lock(session.id))
    await expect(second).rejects.toSatisfy((error) => error instanceof Refused && error.reason === "UNAVAILABLE")
    isOver = true
    await first
    await opened.close()
  })

  test("a lost connection is refused as UNAVAILABLE, and the next transaction has a new one", async () => {
    const opened = await openTestStore("postgres", { maxConnections: 2 })
    const { rows } = await sql<{ pid: number }>`select 0 as pid`.execute(opened.db)
    expect(rows).toEqual([{ pid: 0 }])
    const killOthers = CompiledQuery.raw(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    )
    const lost = opened.store.transaction(async (tx) => {
      await tx.refreshTokens.find([])
      await opened.db.executeQuery(killOthers)
      await tx.refreshTokens.find([])
    })
    await expect(lost).rejects.toSatisfy((error) => error instanceof Refused && error.reason === "UNAVAILABLE")
    expect(await opened.store.transaction((tx) => tx.refreshTokens.find([]))).toBeUndefined()
    expect(await opened.store.isReady()).toBe(true)
    await opened.close()
  })
})

async function nameOf({ db }: TestStore): Promise<string> {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db)
  return rows[0]?.name ?? ""
}

function tokensOf({ db }: TestStore, session: Session) {
  const columns = ["id", "rotated_at", "revoked_at"] as const
  return db.selectFrom("refresh_token").select(columns).where("session_id", "=", session.id).execute()
}
