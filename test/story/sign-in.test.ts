import { buildOpaque } from "@signet/kernel/token/opaque"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

describeStory("a session", (kind) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
  })
  afterAll(() => server?.close())

  describe.each(Object.keys(protocols))("over %s", (protocol) => {
    let clients: Clients
    beforeAll(() => {
      const transport = protocols[protocol]
      if (!transport) throw new Error(protocol)
      clients = clientsOver(transport(server.url))
    })
    const subject = () => `${protocol} ${Math.random()}`

    test("a person signs in, calls, refreshes and signs out", async () => {
      const person = subject()
      const first = await clients.auth.externalLogin(await server.login(person))
      expect(first).toMatchObject({ tokenType: "Bearer", expiresIn: 600, created: true })
      expect(first.refreshToken).toMatch(/^sgrt_[0-9A-Za-z]{50}$/)

      const me = await clients.auth.me({}, bearer(first.accessToken))
      expect(me.principal?.id).toBe(first.principal?.id)
      expect(me.session?.current).toBe(true)
      expect(me.providerAccounts.map((account) => account.subject)).toEqual([person])

      const second = await clients.auth.externalLogin(await server.login(person))
      expect(second.created).toBe(false)
      expect(second.identity?.id).toBe(first.identity?.id)
      const listed = await clients.sessions.listSessions({}, bearer(second.accessToken))
      expect(listed.sessions.map((session) => [session.id, session.current])).toEqual([
        [second.session?.id, true],
        [first.session?.id, false],
      ])

      const refreshed = await clients.auth.refresh({ refreshToken: first.refreshToken })
      expect(refreshed.refreshToken).not.toBe(first.refreshToken)
      expect(refreshed.session?.id).toBe(first.session?.id)

      await clients.auth.logout({ refreshToken: refreshed.refreshToken })
      expect(await refusal(clients.auth.me({}, bearer(refreshed.accessToken)))).toBe("Unauthenticated SESSION_REVOKED")
      expect(await refusal(clients.auth.refresh({ refreshToken: refreshed.refreshToken }))).toBe(
        "Unauthenticated REFRESH_TOKEN_INVALID",
      )
      await clients.auth.logout({ refreshToken: refreshed.refreshToken })
      expect((await clients.auth.me({}, bearer(second.accessToken))).session?.id).toBe(second.session?.id)
    })

    test("a reused refresh token ends its session and no other", async () => {
      const person = subject()
      const stolen = await clients.auth.externalLogin(await server.login(person))
      const other = await clients.auth.externalLogin(await server.login(person))
      const thief = await clients.auth.refresh({ refreshToken: stolen.refreshToken })
      expect(await refusal(clients.auth.refresh({ refreshToken: stolen.refreshToken }))).toBe(
        "Unauthenticated REFRESH_TOKEN_REUSED",
      )
      expect(await refusal(clients.auth.refresh({ refreshToken: thief.refreshToken }))).toBe(
        "Unauthenticated REFRESH_TOKEN_INVALID",
      )
      expect(await refusal(clients.auth.me({}, bearer(thief.accessToken)))).toBe("Unauthenticated SESSION_REVOKED")
      expect((await clients.auth.me({}, bearer(other.accessToken))).session?.id).toBe(other.session?.id)
    })

    test("the same retry key gets the same successor, until it is used", async () => {
      const { refreshToken } = await clients.auth.externalLogin(await server.login(subject()))
      const request = { refreshToken, retryKey: "0123456789abcdefghijkl" }
      const answer = await clients.auth.refresh(request)
      const again = await clients.auth.refresh(request)
      expect(again.refreshToken).toBe(answer.refreshToken)
      expect(again.accessToken).not.toBe(answer.accessToken)
      await clients.auth.refresh({ refreshToken: answer.refreshToken })
      expect(await refusal(clients.auth.refresh(request))).toBe("Unauthenticated REFRESH_TOKEN_REUSED")
    })

    test("a retry whose stored successor was altered counts as reuse", async () => {
      const first = await clients.auth.externalLogin(await server.login(subject()))
      const request = { refreshToken: first.refreshToken, retryKey: "0123456789abcdefghijkl" }
      const { accessToken } = await clients.auth.refresh(request)
      const { db } = server.store
      const rows = db.updateTable("refresh_token").where("successor_sealed", "is not", null)
      await rows
        .where("session_id", "=", first.session?.id as never)
        .set({ successor_sealed: Buffer.alloc(64) })
        .execute()
      expect(await refusal(clients.auth.refresh(request))).toBe("Unauthenticated REFRESH_TOKEN_REUSED")
      expect(await refusal(clients.auth.me({}, bearer(accessToken)))).toBe("Unauthenticated SESSION_REVOKED")
    })

    test("an unknown refresh token neither refreshes nor ends a session", async () => {
      const refreshToken = buildOpaque("sgrt_", server.deps.random)
      expect(await refusal(clients.auth.refresh({ refreshToken }))).toBe("Unauthenticated REFRESH_TOKEN_INVALID")
      await clients.auth.logout({ refreshToken })
      expect(await refusal(clients.auth.logout({}))).toBe("Unauthenticated NO_CREDENTIAL")
    })

    test("another retry key counts as reuse", async () => {
      const { refreshToken } = await clients.auth.externalLogin(await server.login(subject()))
      await clients.auth.refresh({ refreshToken, retryKey: "0123456789abcdefghijkl" })
      const other = { refreshToken, retryKey: "lkjihgfedcba9876543210" }
      expect(await refusal(clients.auth.refresh(other))).toBe("Unauthenticated REFRESH_TOKEN_REUSED")
    })

    test("signing out everywhere ends all sessions, or all but the current one", async () => {
      const person = subject()
      const sessions = []
      for (let i = 0; i < 3; i++) sessions.push(await clients.auth.externalLogin(await server.login(person)))
      const [mine, second, third] = sessions
      if (!mine || !second || !third) throw new Error("three sessions")
      expect(await clients.auth.logoutAll({ exceptCurrent: true }, bearer(mine.accessToken))).toMatchObject({
        revokedSessions: 2,
      })
      expect(await refusal(clients.auth.me({}, bearer(second.accessToken)))).toBe("Unauthenticated SESSION_REVOKED")
      expect(await clients.auth.logoutAll({}, bearer(mine.accessToken))).toMatchObject({ revokedSessions: 1 })
      expect(await refusal(clients.auth.me({}, bearer(mine.accessToken)))).toBe("Unauthenticated SESSION_REVOKED")
    })

    test("each token is for one audience, and the service accepts only its own", async () => {
      const login = { ...(await server.login(subject())), audiences: ["svc-notes", "auth"] }
      const { accessToken, accessTokens } = await clients.auth.externalLogin(login)
      expect(Object.keys(accessTokens).sort()).toEqual(["auth", "svc-notes"])
      expect(accessToken).toBe(accessTokens["svc-notes"])
      expect(await refusal(clients.auth.me({}, bearer(accessToken)))).toBe("Unauthenticated AUDIENCE_MISMATCH")
      await clients.auth.me({}, bearer(accessTokens.auth ?? ""))
      const greedy = { ...(await server.login(subject())), audiences: ["svc-other"] }
      expect(await refusal(clients.auth.externalLogin(greedy))).toBe("InvalidArgument AUDIENCE_NOT_REGISTERED")
    })

    test("each provider token is accepted once", async () => {
      const login = await server.login(subject())
      await clients.auth.externalLogin(login)
      expect(await refusal(clients.auth.externalLogin(login))).toBe("Unauthenticated PROVIDER_TOKEN_REPLAYED")
    })

    test("a provider's token, a refresh token or an empty one is no bearer token", async () => {
      const login = await server.login(subject())
      const { refreshToken } = await clients.auth.externalLogin(login)
      expect(await refusal(clients.auth.me({}))).toBe("Unauthenticated NO_CREDENTIAL")
      expect(await refusal(clients.auth.me({}, bearer(refreshToken)))).toBe("Unauthenticated REFRESH_TOKEN_NOT_BEARER")
      const idToken = login.credential?.case === "idToken" ? login.credential.value : ""
      expect(await refusal(clients.auth.me({}, bearer(idToken)))).toBe("Unauthenticated PROVIDER_TOKEN_NOT_ACCEPTED")
    })

    test("the key set contains public keys only", async () => {
      const { keys } = await clients.tokens.getJwks({})
      expect(keys.length).toBeGreaterThanOrEqual(2)
      for (const key of keys) expect(key).toMatchObject({ kty: "EC", crv: "P-256", alg: "ES256", use: "sig" })
    })
  })

  test("without a retry window no successor is stored, and a retry counts as reuse", async () => {
    const { auth } = clientsOver((protocols.gRPC ?? expect.unreachable)(server.url))
    const put = (retryWindowSeconds: number) =>
      server.deps.store.transaction((tx) =>
        tx.apps.putApp({ ...server.app, settings: { ...server.app.settings, retryWindowSeconds } }),
      )
    const { refreshToken, session } = await auth.externalLogin(await server.login(`no window ${Math.random()}`))
    await put(0)
    const request = { refreshToken, retryKey: "0123456789abcdefghijkl" }
    await auth.refresh(request)
    const rows = server.store.db.selectFrom("refresh_token").select(["retry_key_hash", "successor_sealed"])
    for (const row of await rows.where("session_id", "=", session?.id as never).execute()) {
      expect(row).toEqual({ retry_key_hash: null, successor_sealed: null })
    }
    expect(await refusal(auth.refresh(request))).toBe("Unauthenticated REFRESH_TOKEN_REUSED")
    await put(server.app.settings.retryWindowSeconds)
  })
})
