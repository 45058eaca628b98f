// Attacks by an app, or by somebody who reads its traffic, with the tokens of an IDP_C project.
import { Platform, Provider } from "@signet/proto/auth/v1/records"
import { decodeJwt } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { describeStory } from "../support/postgres.ts"
import { password, type SignInWorld, startSignInWorld } from "../support/sign-in-world.ts"

describeStory("a session of IDP_C", (kind) => {
  let world: SignInWorld
  let people = 0
  beforeAll(async () => {
    world = await startSignInWorld({ store: kind })
  })
  afterAll(() => world?.close())

  const newEmail = () => `session-${++people}@example.com`

  /** Signs a new user in at the project, without this service. */
  async function visitor(email = newEmail()) {
    const { id } = await world.idpC.addPerson({ email, password, isConfirmed: true })
    const answer = await world.idpC.ask("/token?grant_type=password", { email, password })
    const { access_token: token } = (await answer.json()) as { access_token: string }
    return { email, id, token, sessionId: String(decodeJwt(token).session_id) }
  }
  type Visitor = Awaited<ReturnType<typeof visitor>>

  const request = (token: string) => ({
    appId: world.app.id,
    provider: Provider.IDP_C,
    platform: Platform.WEB,
    credential: { case: "providerSession", value: token } as const,
  })
  const present = (token: string, body: object = {}) =>
    world.post("/auth/login/idp-c", { appId: world.app.id, platform: "WEB", providerSession: token, ...body })
  const told = async (answer: ReturnType<typeof present>) => {
    const { status, reason, metadata } = await answer
    return [status, reason, metadata?.claim].filter(Boolean).join(" ")
  }
  /** Returns the visitor's token with other claims, signed by the project. */
  const changed = ({ id, email, sessionId }: Visitor, change: object) =>
    world.idpC.mint(id, { email, role: "authenticated", session_id: sessionId, ...change })
  const paths = (from: number) => world.idpC.requests.slice(from).map(({ url }) => url.replace(/^.*\/auth\/v1/, ""))

  const names = Object.keys(protocols)
  describe.each(kind === "pglite" ? names : names.slice(0, 1).concat("REST"))("over %s", (protocol) => {
    let clients: Clients
    beforeAll(() => {
      clients = clientsOver((protocols[protocol] ?? expect.unreachable)(world.server.url))
    })

    test("signs its user in once, and stays valid at the project", async () => {
      const one = await visitor()
      const answer = await clients.auth.externalLogin(request(one.token))
      expect(answer).toMatchObject({ created: true, identity: { primaryEmail: one.email } })
      const again = await clients.auth.externalLogin(request(await changed(one, { jti: protocol })))
      expect([again.created, again.identity?.id]).toEqual([false, answer.identity?.id])
      expect(await refusal(clients.auth.externalLogin(request(one.token)))).toBe(
        "Unauthenticated PROVIDER_TOKEN_REPLAYED",
      )
      const { status } = await world.idpC.ask("/user", undefined, { authorization: `Bearer ${one.token}` })
      expect(status).toBe(200)
    })

    test("signs in the same user as the password", async () => {
      const one = await visitor()
      const { identity } = await world.signInC(one.email)
      expect((await clients.auth.externalLogin(request(one.token))).identity?.id).toBe(identity?.id)
    })

    test("is refused after its session has ended at the project", async () => {
      const one = await visitor()
      await world.idpC.ask("/logout?scope=local", {}, { authorization: `Bearer ${one.token}` })
      expect(await refusal(clients.auth.externalLogin(request(one.token)))).toBe(
        "Unauthenticated PROVIDER_TOKEN_INVALID",
      )
    })

    test("is refused as an ID token, and an ID token is refused as a session", async () => {
      const one = await visitor()
      const asIdToken = { ...request(""), credential: { case: "idToken", value: one.token } as const }
      expect(await refusal(clients.auth.externalLogin(asIdToken))).toMatch(/ PROVIDER_NOT_CONFIGURED$/)
      const ofA = { ...asIdToken, provider: Provider.IDP_A, nonce: "n-1" }
      expect(await refusal(clients.auth.externalLogin(ofA))).toBe("Unauthenticated PROVIDER_TOKEN_INVALID")
      const sessionOfA = { ...request(one.token), provider: Provider.IDP_A }
      expect(await refusal(clients.auth.externalLogin(sessionOfA))).toMatch(/ PROVIDER_NOT_CONFIGURED$/)
      const idToken = await world.server.idp.mint({ claims: { sub: one.id } })
      expect(await refusal(clients.auth.externalLogin(request(idToken)))).toBe("Unauthenticated PROVIDER_TOKEN_INVALID")
    })

    test("is refused as a bearer token", async () => {
      const { token } = await visitor()
      expect(await refusal(clients.auth.me({}, bearer(token)))).toBe("Unauthenticated PROVIDER_TOKEN_NOT_ACCEPTED")
    })

    test("can be linked once to the signed-in user", async () => {
      const { accessToken = "" } = await world.signInA(`linker over ${protocol} ${kind}`)
      const one = await visitor()
      const { appId: _, ...credential } = request(one.token)
      await clients.account.linkProviderAccount(credential, bearer(accessToken))
      expect((await clients.auth.me({}, bearer(accessToken))).providerAccounts.map(({ subject }) => subject)).toContain(
        one.id,
      )
      expect(await refusal(clients.account.linkProviderAccount(credential, bearer(accessToken)))).toBe(
        "Unauthenticated PROVIDER_TOKEN_REPLAYED",
      )
    })
  })

  const now = () => Math.floor(world.server.deps.clock.nowMs() / 1_000)
  test.each<[string, () => object, string]>([
    ["of another project", () => ({ iss: "https://other.example/auth/v1" }), "iss"],
    ["for another audience", () => ({ aud: "service" }), "aud"],
    ["for another audience as well", () => ({ aud: ["authenticated", "service"] }), "aud"],
    ["that is an ID token for an OAuth client", () => ({ aud: "some-client", session_id: undefined }), "session_id"],
    ["of no session", () => ({ session_id: undefined }), "session_id"],
    ["of another person's session", () => ({ sub: "6b9ed617-63cb-424f-a433-e6d91698f11b" }), "sub"],
    ["of an OAuth client of the project", () => ({ client_id: "some-client" }), "client_id"],
    ["with the role of the project's service", () => ({ role: "service_role" }), "role"],
    ["without a role", () => ({ role: undefined }), "role"],
    ["of somebody anonymous", () => ({ is_anonymous: true }), "is_anonymous"],
    ["with another address", () => ({ email: "victim@example.com" }), "email"],
    ["that has expired", () => ({ exp: now() - 31 }), "exp"],
    ["without an end", () => ({ exp: undefined }), "exp"],
    ["eleven minutes old", () => ({ iat: now() - 660 }), "iat"],
    ["from the future", () => ({ iat: now() + 60 }), "iat"],
    ["that starts later", () => ({ nbf: now() + 60 }), "nbf"],
  ])("%s signs nobody in", async (_, change, claim) => {
    const token = await changed(await visitor(), change())
    expect(await told(present(token))).toBe(`401 PROVIDER_TOKEN_INVALID ${claim}`)
  })

  test("that the project did not sign is refused before the project is asked", async () => {
    const { token } = await visitor()
    const [header, payload = "", signature] = token.split(".")
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString())
    const altered = Buffer.from(JSON.stringify({ ...claims, sub: "victim" })).toString("base64url")
    const none = Buffer.from(JSON.stringify({ alg: "none", typ: "JWT" })).toString("base64url")
    const before = world.idpC.requests.length
    for (const forged of [
      `${header}.${altered}.${signature}`,
      `${none}.${payload}.`,
      `${none}.${payload}.AAAA`,
      "x",
      "a b",
    ]) {
      expect(await told(present(forged))).toMatch(/^401 PROVIDER_TOKEN_INVALID (signature|alg|form)$/)
    }
    expect(paths(before)).not.toContain("/user")
  })

  test("is accepted once, in any encoding of its signature", async () => {
    const { token } = await visitor()
    expect((await present(token)).status).toBe(200)
    const dot = token.lastIndexOf(".") + 1
    const bytes = Buffer.from(token.slice(dot), "base64url")
    const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
    const s = order - BigInt(`0x${bytes.subarray(32).toString("hex")}`)
    const negated = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, "0"), "hex")])
    expect(await told(present(token.slice(0, dot) + negated.toString("base64url")))).toBe("401 PROVIDER_TOKEN_REPLAYED")
  })

  test("of a banned user or with an unconfirmed address is refused", async () => {
    const banned = await visitor()
    const person = world.idpC.project.people.find(banned.email) ?? expect.unreachable()
    person.isBanned = true
    expect(await told(present(banned.token))).toBe("401 PROVIDER_TOKEN_INVALID banned_until")
    const stranger = await visitor()
    const other = world.idpC.project.people.find(stranger.email) ?? expect.unreachable()
    other.confirmedAtMs = null
    expect(await told(present(stranger.token))).toBe("403 EMAIL_NOT_VERIFIED email_confirmed_at")
    other.confirmedAtMs = world.server.deps.clock.nowMs()
    expect(await told(present(stranger.token))).toBe("403 EMAIL_NOT_VERIFIED email_confirmed_at")
  })

  test("is refused while the account may have a stranger's password", async () => {
    const email = newEmail()
    await world.idpC.addPerson({ email, password, isConfirmed: false })
    await world.startLink(email)
    // The project fails to replace the password.
    world.idpC.misbehaviour.set("/user", "fails")
    await world.confirmLink(world.linkOf(email))
    world.idpC.misbehaviour.delete("/user")
    world.server.advance(60_000)
    const answer = await world.idpC.ask("/token?grant_type=password", { email, password })
    const { access_token: token } = (await answer.json()) as { access_token: string }
    expect(await told(present(token))).toBe("401 INVALID_CREDENTIALS")
  })

  test("is audited when refused, without the token", async () => {
    // The refusals of earlier tests have used up this network's budget.
    world.server.advance(3_600_000)
    const { token } = await visitor()
    await world.audited()
    await present(await changed(await visitor(), { role: "service_role" }))
    expect(await world.audited()).toContainEqual({ kind: "login.failed", reason: "PROVIDER_TOKEN_INVALID" })
    const rows = await world.server.store.db.selectFrom("audit_event").selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(token.split(".")[1])
  })
})
