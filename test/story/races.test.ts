// Concurrent transactions on real PostgreSQL: in the default isolation level, and in the long form in the strictest.
import { parseId } from "@signet/kernel/ids"
import type { IsolationLevel } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { effort, isLong } from "../support/effort.ts"
import { describeOnPostgres, openTestStore, type TestStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const [usual, strictest] = ["read committed", "serializable"] as const
const levels: readonly IsolationLevel[] = effort([usual], [usual, strictest], [usual, strictest])

for (const isolationLevel of levels) {
  describeOnPostgres(`races under ${isolationLevel}`, () => {
    let store: TestStore
    let first: TestServer
    let second: TestServer
    let clients: Clients[]
    beforeAll(async () => {
      store = await openTestStore("postgres", { isolationLevel, maxConnections: 30 })
      // Two servers on one database, like two processes.
      first = await startTestServer({ store })
      second = await startTestServer({ store })
      const transport = protocols["Connect JSON over HTTP/1.1"]
      if (!transport) throw new Error("no transport")
      clients = [clientsOver(transport(first.url)), clientsOver(transport(second.url))]
    })
    afterAll(async () => {
      await first?.close()
      await second?.close()
      await store?.close()
    })

    const at = (i: number): Clients => {
      const chosen = clients[i % 2]
      if (!chosen) throw new Error("no client")
      return chosen
    }
    const fifty = Array.from({ length: 50 }, (_, i) => i)
    const liveTokens = async (session: { id: string } | undefined) => {
      const sessionId = parseId("ses", session?.id ?? "")
      if (sessionId === undefined) throw new Error("no session")
      return (
        await store.db
          .selectFrom("refresh_token")
          .select("id")
          .where("session_id", "=", sessionId)
          .where("rotated_at", "is", null)
          .where("revoked_at", "is", null)
          .execute()
      ).length
    }

    /** Both servers accept the second one's issuer, because the configuration is in the database. */
    const login = (subject: string) => second.login(subject)

    test.runIf(isLong)("50 parallel first sign-ins of one subject create one identity", async () => {
      const subject = `race ${isolationLevel}`
      const logins = await Promise.all(fifty.map(() => login(subject)))
      const signedIn = await Promise.all(logins.map((request, i) => at(i).auth.externalLogin(request)))
      expect(new Set(signedIn.map(({ identity }) => identity?.id)).size).toBe(1)
      expect(new Set(signedIn.map(({ principal }) => principal?.id)).size).toBe(1)
      expect(new Set(signedIn.map(({ membership }) => membership?.id)).size).toBe(1)
      expect(signedIn.filter(({ created }) => created)).toHaveLength(1)
      const rows = await store.db.selectFrom("identity").select("id").execute()
      expect(rows).toHaveLength(1)
    })

    test("50 parallel refreshes with one retry key give one successor", async () => {
      const { refreshToken, session } = await at(0).auth.externalLogin(await login("retry"))
      const request = { refreshToken, retryKey: "0123456789abcdefghijkl" }
      const answers = await Promise.all(fifty.map((i) => at(i).auth.refresh(request)))
      expect(new Set(answers.map((answer) => answer.refreshToken)).size).toBe(1)
      expect(new Set(answers.map((answer) => answer.accessToken)).size).toBe(50)
      expect(await liveTokens(session)).toBe(1)
    })

    test.runIf(isLong)("50 parallel refreshes without one give one winner and end the session", async () => {
      const { refreshToken, session } = await at(0).auth.externalLogin(await login("no key"))
      const outcomes = await Promise.allSettled(fifty.map((i) => at(i).auth.refresh({ refreshToken })))
      const won = outcomes.filter((outcome) => outcome.status === "fulfilled")
      expect(won).toHaveLength(1)
      expect(await liveTokens(session)).toBe(0)
      const [winner] = won
      if (winner?.status !== "fulfilled") throw new Error("no winner")
      expect(await refusal(at(1).auth.refresh({ refreshToken: winner.value.refreshToken }))).toBe(
        "Unauthenticated REFRESH_TOKEN_INVALID",
      )
      expect(await refusal(at(0).auth.me({}, bearer(winner.value.accessToken)))).toBe("Unauthenticated SESSION_REVOKED")
    })

    test("one ID token sent 50 times signs in once", async () => {
      const request = await login("replay")
      const outcomes = await Promise.allSettled(fifty.map((i) => at(i).auth.externalLogin(request)))
      expect(outcomes.filter((outcome) => outcome.status === "fulfilled")).toHaveLength(1)
    })

    test.runIf(isLong)("a sign-in during a suspension of the principal leaves no active session", async () => {
      for (let round = 0; round < 10; round++) {
        const { principal } = await at(0).auth.externalLogin(await login(`suspended ${round}`))
        const id = parseId("prn", principal?.id ?? "")
        if (id === undefined) throw new Error("no principal")
        const again = await Promise.all([login(`suspended ${round}`), login(`suspended ${round}`)])
        await Promise.allSettled([
          at(0).auth.externalLogin(again[0]),
          store.store.transaction((tx) => tx.principals.end(id, "SUSPENDED", Date.now())),
          at(1).auth.externalLogin(again[1]),
        ])
        const alive = await store.db
          .selectFrom("session")
          .select("id")
          .where("principal_id", "=", id)
          .where("status", "=", "ACTIVE")
          .execute()
        expect(alive).toEqual([])
      }
    })

    test.runIf(isLong)("concurrent refreshes and logouts leave no valid token", async () => {
      for (let round = 0; round < 10; round++) {
        const { refreshToken, accessToken, session } = await at(0).auth.externalLogin(await login(`logout ${round}`))
        await Promise.allSettled([
          at(0).auth.refresh({ refreshToken, retryKey: "0123456789abcdefghijkl" }),
          at(1).auth.logout({}, bearer(accessToken)),
          at(0).auth.logoutAll({}, bearer(accessToken)),
          at(1).auth.refresh({ refreshToken, retryKey: "0123456789abcdefghijkl" }),
        ])
        expect(await liveTokens(session)).toBe(0)
      }
    })
  })
}
