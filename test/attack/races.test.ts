// Concurrent calls on a database that aborts transactions. Each effect happens once and is audited once.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, clientsOver, protocols } from "../support/clients.ts"
import { isLong, sample } from "../support/effort.ts"
import { describeOnPostgres, openTestStore, type TestStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const many = 20

describeOnPostgres("many at once", () => {
  describe.each(sample(1, ["read committed", "serializable"] as const))("under %s", (isolationLevel) => {
    let store: TestStore
    let server: TestServer
    beforeAll(async () => {
      store = await openTestStore("postgres", { isolationLevel, maxConnections: 20 })
      server = await startTestServer({ store })
    })
    afterAll(async () => {
      await server?.close()
      await store?.close()
    })
    const auth = () => clientsOver(protocols["Connect JSON over HTTP/1.1"]?.(server.url) as never).auth
    const countOf = async (identityId: string) => {
      const events = await store.db
        .selectFrom("audit_event")
        .select("kind")
        .where("subject_identity_id", "=", identityId as never)
        .execute()
      const counts: Record<string, number> = {}
      for (const { kind } of events) counts[kind] = (counts[kind] ?? 0) + 1
      return counts
    }

    test.runIf(isLong)("concurrent first sign-ins of one user create one user, and each is audited once", async () => {
      const requests = await Promise.all(Array.from({ length: many }, () => server.login("newcomer")))
      const answers = await Promise.all(requests.map((request) => auth().externalLogin(request)))
      expect(answers.filter(({ created }) => created).length).toBe(1)
      expect(new Set(answers.map(({ identity }) => identity?.id)).size).toBe(1)
      expect(await countOf(answers[0]?.identity?.id ?? "")).toEqual({
        "identity.created": 1,
        "provider_account.linked": 1,
        "membership.created": 1,
        "login.succeeded": many,
        "session.created": many,
      })
    })

    test("one ID token creates one session", async () => {
      const request = await server.login("one token")
      const answers = await Promise.allSettled(Array.from({ length: many }, () => auth().externalLogin(request)))
      const [won, ...others] = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []))
      expect(others).toEqual([])
      const sessions = await store.db
        .selectFrom("session")
        .select("id")
        .where("identity_id", "=", won?.identity?.id as never)
        .execute()
      expect(sessions).toEqual([{ id: won?.session?.id }])
    })

    test.runIf(isLong)("concurrent refreshes and sign-outs leave no active session", async () => {
      const user = await auth().externalLogin(await server.login("all at once"))
      const calls = Array.from({ length: many }, (_, i) => {
        if (i % 3 === 0) return auth().refresh({ refreshToken: user.refreshToken, retryKey: "AAAAAAAAAAAAAAAAAAAAAA" })
        if (i % 3 === 1) return auth().logoutAll({}, bearer(user.accessToken))
        return auth().logout({}, bearer(user.accessToken))
      })
      const answers = await Promise.allSettled(calls)
      for (const answer of answers) {
        if (answer.status === "rejected") expect(String(answer.reason)).toMatch(/unauthenticated/)
      }
      const sessions = await store.db
        .selectFrom("session")
        .select("status")
        .where("identity_id", "=", user.identity?.id as never)
        .execute()
      expect(sessions).toEqual([{ status: "REVOKED" }])
      const live = await store.db
        .selectFrom("refresh_token")
        .select("id")
        .where("session_id", "=", user.session?.id as never)
        .where("revoked_at", "is", null)
        .execute()
      expect(live).toEqual([])
      expect((await countOf(user.identity?.id ?? ""))["session.revoked"]).toBe(1)
    })
  })
})
