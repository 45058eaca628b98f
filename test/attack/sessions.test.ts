// Attacks by a signed-in user on the sessions of others, and what the audit records of them.
import { randomBytes } from "node:crypto"
import { create, toJsonString } from "@bufbuild/protobuf"
import { type AppId, newId, type ProviderClientId } from "@signet/kernel/ids"
import { ExternalLoginRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { afterAll, beforeAll, expect, test } from "vitest"
import { bearer, clientsOver, protocols, refusal } from "../support/clients.ts"
import { addPat, postForm } from "../support/machines.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const origin = "https://notes.example"
const fromPage = { origin, "x-signet-client": "web" }

interface SignedIn {
  accessToken: string
  refreshToken: string
  session: { id: string }
  cookie: string
}

describeStory("a signed-in stranger", (kind) => {
  let server: TestServer
  let otherApp: AppId
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    otherApp = newId("app", Date.now(), randomBytes(10))
    const client: ProviderClientId = newId("pcl", Date.now(), randomBytes(10))
    await server.deps.store.transaction(async (tx) => {
      await tx.apps.putApp({ ...server.app, id: otherApp })
      await tx.apps.putProviderClient({ ...server.client, id: client, appId: otherApp })
    })
  })
  afterAll(() => server?.close())

  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(server.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    })
  const reasonOf = async (response: Response) =>
    response.status === 204 ? "" : (((await response.json()) as { reason?: string }).reason ?? "")

  async function signIn(subject: string, more: { appId?: AppId; cookieMode?: boolean } = {}): Promise<SignedIn> {
    const request = create(ExternalLoginRequestSchema, { ...(await server.login(subject)), ...more })
    const json = JSON.parse(toJsonString(ExternalLoginRequestSchema, request))
    const response = await post("/auth/login/idp-a", json, fromPage)
    const [cookie = ""] = response.headers.getSetCookie()
    return { ...((await response.json()) as Omit<SignedIn, "cookie">), cookie: cookie.split(";")[0] ?? "" }
  }
  const isAlive = async ({ accessToken }: SignedIn) => {
    const headers = { authorization: `Bearer ${accessToken}` }
    return (await fetch(`${server.url}/auth/session/me`, { headers })).status === 200
  }
  const connect = () => clientsOver(protocols["Connect JSON over HTTP/1.1"]?.(server.url) as never)
  const eventsOf = (sessionId: string, eventKind: string) =>
    server.store.db
      .selectFrom("audit_event")
      .select(["app_id", "actor_principal_id", "reason", "request_id", "key_owner"])
      .where("session_id", "=", sessionId as never)
      .where("kind", "=", eventKind as never)
      .execute()

  test("ends a session once: a repeated call succeeds and records nothing", async () => {
    const [user, other] = [await signIn("ends twice"), await signIn("ends twice")]
    const { sessions } = connect()
    for (const _ of [1, 2]) await sessions.revokeSession({ sessionId: other.session.id }, bearer(user.accessToken))
    expect(await eventsOf(other.session.id, "session.revoked")).toHaveLength(1)
  })

  test("gets the same answer for another user's session, one in another app, an ended one and a missing one", async () => {
    const mallory = await signIn("mallory")
    const victim = await signIn("victim")
    const elsewhere = await signIn("mallory", { appId: otherApp })
    const { sessions } = connect()
    const answers = []
    for (const id of [victim.session.id, elsewhere.session.id, newId("ses", 1, randomBytes(10))]) {
      const call = sessions.revokeSession({ sessionId: id }, bearer(mallory.accessToken))
      answers.push(
        await call.then(
          () => "ended",
          (error: Error) => error.message,
        ),
      )
    }
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).not.toBe("ended")
    expect(await Promise.all([victim, elsewhere].map(isAlive))).toEqual([true, true])
  })

  test("cannot end another user's session over REST, and can end its own if path and body agree", async () => {
    const mallory = await signIn("mallory over REST")
    const victim = await signIn("victim over REST")
    const revoke = (id: string, body: object = {}) =>
      post(`/auth/session/sessions/${id}:revoke`, body, { authorization: `Bearer ${mallory.accessToken}` })
    expect(await reasonOf(await revoke(victim.session.id))).toBe("SESSION_NOT_FOUND")
    expect((await revoke(mallory.session.id, { sessionId: victim.session.id })).status).toBe(400)
    expect((await post(`/auth/session/sessions/${mallory.session.id}:revoke`, {}, {})).status).toBe(401)
    expect(await Promise.all([victim, mallory].map(isAlive))).toEqual([true, true])
    expect((await revoke(mallory.session.id)).status).toBe(204)
    expect(await Promise.all([victim, mallory].map(isAlive))).toEqual([true, false])
  })

  test("cannot use the page token of another user or app", async () => {
    for (let i = 0; i < 3; i++) await signIn("pager")
    const pager = await signIn("pager")
    const same = await signIn("pager", { appId: otherApp })
    const stranger = await signIn("page stranger")
    const { sessions } = connect()
    const { nextPageToken } = await sessions.listSessions({ pageSize: 1 }, bearer(pager.accessToken))
    expect(nextPageToken).not.toBe("")
    for (const { accessToken } of [same, stranger]) {
      const call = sessions.listSessions({ pageSize: 1, pageToken: nextPageToken }, bearer(accessToken))
      expect(await refusal(call)).toBe("InvalidArgument INVALID_FIELD")
    }
    const listed = await sessions.listSessions({}, bearer(pager.accessToken))
    expect(listed.sessions.map(({ id }) => id)).not.toContain(same.session.id)
  })

  test("cannot use one app's cookie under another app's name", async () => {
    const victim = await signIn("cookie victim", { cookieMode: true })
    const [, token = ""] = victim.cookie.split("=")
    const cookie = `__Host-sgrt-${otherApp}=${token}`
    const answer = await post("/auth/session/refresh", { appId: otherApp }, { ...fromPage, cookie })
    expect(await reasonOf(answer)).toBe("REFRESH_TOKEN_INVALID")
    const asOwn = await post("/auth/session/refresh", { appId: otherApp }, { ...fromPage, cookie: victim.cookie })
    expect(await reasonOf(asOwn)).toBe("REFRESH_TOKEN_INVALID")
    const twice = { ...fromPage, cookie: `${victim.cookie}; ${victim.cookie}` }
    expect(await reasonOf(await post("/auth/session/refresh", { appId: server.app.id }, twice))).toBe(
      "REFRESH_TOKEN_INVALID",
    )
    expect(await isAlive(victim)).toBe(true)
  })

  test("a sign-out ends the session over every protocol, whatever refresh token the call has", async () => {
    for (const refreshToken of ["", "sgrt_nonsense", "x"]) {
      const user = await signIn("leaver")
      const headers = { authorization: `Bearer ${user.accessToken}` }
      expect((await post("/auth/session/logout", { refreshToken }, headers)).status).toBe(204)
      for (const open of Object.values(protocols)) {
        const { auth } = clientsOver(open(server.url))
        expect(await refusal(auth.me({}, bearer(user.accessToken)))).toBe("Unauthenticated SESSION_REVOKED")
      }
      const again = await post("/auth/session/refresh", { refreshToken: user.refreshToken })
      expect(await reasonOf(again)).toBe("REFRESH_TOKEN_INVALID")
    }
  })

  test("a refresh token ends its own session, not the bearer token's session", async () => {
    const [one, two] = [await signIn("two places"), await signIn("two places")]
    const headers = { authorization: `Bearer ${two.accessToken}` }
    await post("/auth/session/logout", { refreshToken: one.refreshToken }, headers)
    expect([await isAlive(one), await isAlive(two)]).toEqual([false, true])
  })

  test("a sign-out everywhere is audited in each app with a session", async () => {
    const here = await signIn("everywhere")
    const there = await signIn("everywhere", { appId: otherApp })
    const bystander = await signIn("bystander")
    const answer = await post("/auth/session/logout-all", {}, { authorization: `Bearer ${here.accessToken}` })
    expect(await answer.json()).toEqual({ revokedSessions: 2 })
    const appsOf = async ({ session }: SignedIn) =>
      (await eventsOf(session.id, "session.revoked")).map((event) => event.app_id)
    expect(await appsOf(here)).toEqual([server.app.id])
    expect(await appsOf(there)).toEqual([otherApp])
    expect(await isAlive(bystander)).toBe(true)
  })

  test("an audited denial has the id of its request", async () => {
    const user = await signIn("denied")
    await server.store.db
      .updateTable("membership")
      .set({ status: "SUSPENDED" })
      .where("principal_id", "in", (query) =>
        query
          .selectFrom("session")
          .select("principal_id")
          .where("id", "=", user.session.id as never),
      )
      .execute()
    const response = await fetch(`${server.url}/auth/session/me`, {
      headers: { authorization: `Bearer ${user.accessToken}` },
    })
    expect(response.status).toBe(403)
    const { instance } = (await response.json()) as { instance: string }
    await expect
      .poll(() => eventsOf(user.session.id, "authz.denied"))
      .toMatchObject([
        {
          app_id: server.app.id,
          reason: "MEMBERSHIP_INACTIVE",
          request_id: instance.replace("urn:request:", ""),
          key_owner: expect.stringMatching(/^prn_/),
        },
      ])
  })

  test("a personal access token with any scopes can neither list nor end sessions", async () => {
    const user = await signIn("token maker")
    const { principal, identity } = await server.deps.store.transaction(async (tx) => {
      const session = await tx.sessions.find(user.session.id as never)
      if (session === undefined) throw new Error("no session")
      return { principal: session.principalId, identity: session.identityId }
    })
    const scopes = ["auth.service_accounts.read"]
    await server.deps.store.transaction(async (tx) => {
      const isDefault = true
      const scope = { key: "auth.service_accounts.read", audience: server.deps.authAudience, isDefault }
      await tx.apps.putApp({ ...server.app, scopes: [...server.app.scopes, scope] })
    })
    const change = { allowedAudiences: [server.deps.authAudience], scopes }
    const { token: pat } = await addPat(server, { principalId: principal, identityId: identity }, change)
    const { body } = await postForm(`${server.url}/auth/token`, { grant_type: "pat", pat })
    const asProgram = bearer(String(body.access_token))
    const { auth, sessions } = connect()
    const denied = "PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED"
    expect(await refusal(auth.logoutAll({}, asProgram))).toBe(denied)
    expect(await refusal(sessions.listSessions({}, asProgram))).toBe(denied)
    expect(await refusal(sessions.revokeSession({ sessionId: user.session.id }, asProgram))).toBe(denied)
    expect(await isAlive(user)).toBe(true)
  })

  test("answers with a secret and refusals are not cacheable", async () => {
    const user = await signIn("no store")
    const answers = [
      await post("/auth/session/refresh", { refreshToken: user.refreshToken }),
      await post("/auth/session/refresh", { refreshToken: "x" }),
      await post("/signet.auth.v1.AuthService/Refresh", { refreshToken: "x" }),
      await fetch(`${server.url}/auth/session/me`),
      await fetch(`${server.url}/signet.auth.v1.AuthService/Me?encoding=json&message=%7B%7D`),
      await fetch(`${server.url}/auth/session/me`, { headers: { authorization: `Bearer ${user.accessToken}` } }),
    ]
    for (const answer of answers) expect(answer.headers.get("cache-control")).toBe("no-store")
  })
})
