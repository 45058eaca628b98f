// IDP_B's notifications and their effect on accounts.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { idpBSubjectOf } from "../../server/development/idp-b-person.ts"
import { describeStory } from "../support/postgres.ts"
import { type SignInWorld, startSignInWorld } from "../support/sign-in-world.ts"

describeStory("a notification of IDP_B", (kind) => {
  let world: SignInWorld
  let ids = 0
  beforeAll(async () => {
    world = await startSignInWorld({ store: kind })
  })
  afterAll(() => world?.close())

  async function notify(
    event: Record<string, unknown>,
    { jti = `jti-${++ids}`, ...claims }: Record<string, unknown> = {},
  ): Promise<{ payload: string; status: number; reason?: string; text: string }> {
    const payload = await world.idpB.notify({ event, claims: { jti, ...claims } })
    return { payload, ...(await send(payload)) }
  }
  async function send(payload: string): Promise<{ status: number; reason?: string; text: string }> {
    const response = await fetch(`${world.server.url}/auth/webhooks/idp-b`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ payload }),
    })
    const text = await response.text()
    return { status: response.status, text, ...(text === "" ? {} : { reason: JSON.parse(text).reason }) }
  }
  const accountOf = (subject: string) =>
    world.server.store.db
      .selectFrom("provider_account")
      .select(["status", "is_contactable", "refresh_token_sealed"])
      .where("subject", "=", subject)
      .executeTakeFirst()
  const reasonOf = async (token = "") => (await world.get("/auth/session/me", token)).reason

  test.each(["consent-revoked", "account-delete", "account-deleted"])(
    "that says %s ends the account and its sessions, in every app, and no other",
    async (type) => {
      const first = await world.signInB(type)
      const other = await world.signInB(type, { app: world.otherApp })
      const bystander = await world.signInB(`not ${type}`)
      await world.audited()
      expect(await notify({ type, sub: type })).toMatchObject({ status: 204, text: "" })
      const kinds = (await world.audited()).map((event) => event.kind)
      expect(kinds.toSorted()).toEqual(["provider_account.revoked", "session.revoked", "session.revoked"])
      expect(await accountOf(type)).toMatchObject({ status: "REVOKED" })
      expect(await reasonOf(first.accessToken)).toBe("SESSION_REVOKED")
      expect(await reasonOf(other.accessToken)).toBe("SESSION_REVOKED")
      expect(await reasonOf(bystander.accessToken)).toBeUndefined()
      const refreshed = await world.post("/auth/session/refresh", { refreshToken: first.refreshToken })
      expect(refreshed.reason).toBe("REFRESH_TOKEN_INVALID")
    },
  )

  test("is undone by the person's next sign-in, with the same identity", async () => {
    const before = await world.signInB("returns")
    await notify({ type: "consent-revoked", sub: "returns" })
    const after = await world.signInB("returns")
    expect(after.identity?.id).toBe(before.identity?.id)
    expect(await accountOf("returns")).toMatchObject({ status: "LINKED" })
  })

  test("is applied once, so that a replay cannot end later sessions", async () => {
    await world.signInB("replayed")
    const { payload } = await notify({ type: "consent-revoked", sub: "replayed" })
    const later = await world.signInB("replayed")
    expect(await send(payload)).toMatchObject({ status: 204, text: "" })
    const resigned = await notify({ type: "consent-revoked", sub: "replayed" }, { jti: `jti-${ids}` })
    expect(resigned).toMatchObject({ status: 204, text: "" })
    expect(await reasonOf(later.accessToken)).toBeUndefined()
  })

  test("that arrives twice at the same time is applied once", async () => {
    await world.signInB("twice")
    await world.audited()
    const payload = await world.idpB.notify({
      event: { type: "account-delete", sub: "twice" },
      claims: { jti: "twice" },
    })
    const answers = await Promise.all([send(payload), send(payload), send(payload)])
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204])
    const kinds = (await world.audited()).map((event) => event.kind)
    expect(kinds.filter((each) => each === "provider_account.revoked")).toEqual(["provider_account.revoked"])
  })

  test("about the address updates its delivery status, and ends nothing", async () => {
    const { accessToken } = await world.signInB("relay", { claims: { is_private_email: "true" } })
    await world.audited()
    await notify({ type: "email-disabled", sub: "relay" })
    expect(await accountOf("relay")).toMatchObject({ status: "LINKED", is_contactable: false })
    await notify({ type: "email-disabled", sub: "relay" })
    await notify({ type: "email-enabled", sub: "relay" })
    expect(await accountOf("relay")).toMatchObject({ is_contactable: true })
    expect(await reasonOf(accessToken)).toBeUndefined()
    const kinds = (await world.audited()).map((event) => event.kind)
    expect(kinds).toEqual(["provider_account.updated", "provider_account.updated"])
  })

  test("about an unknown account is answered like any other", async () => {
    expect(await notify({ type: "account-delete", sub: "nobody at all" })).toMatchObject({ status: 204, text: "" })
  })

  test("lifts no block, and deletes the provider's refresh token", async () => {
    const { clientId } = await world.clientOf(world.app.id, "IDP_B", "WEB")
    expect(clientId).not.toBe("")
    const subject = idpBSubjectOf({ email: "blocked@example.com", name: "B" })
    await world.signInB(subject)
    const { db } = world.server.store
    const change = { status: "BLOCKED", refresh_token_sealed: new Uint8Array(40) } as const
    await db.updateTable("provider_account").set(change).where("subject", "=", subject).execute()
    await notify({ type: "consent-revoked", sub: subject })
    expect(await accountOf(subject)).toMatchObject({ status: "BLOCKED", refresh_token_sealed: null })
    expect((await world.signInB(subject)).reason).toBe("IDENTITY_INACTIVE")
  })

  describe("is refused", () => {
    test.each<[string, Record<string, unknown>]>([
      ["for an unknown audience", { aud: "com.example.elsewhere" }],
      ["of another issuer", { iss: "https://evil.example" }],
      ["that is a day old", { iat: 1 }],
      ["without an id", { jti: "" }],
    ])("%s", async (_, claims) => {
      expect(await notify({ type: "consent-revoked", sub: "x" }, claims)).toMatchObject({
        status: 401,
        reason: "PROVIDER_TOKEN_INVALID",
      })
    })

    test("without a signature, and if it is a sign-in token", async () => {
      const payload = await world.idpB.notify({ event: { sub: "unsigned" }, claims: { jti: "unsigned" } })
      const [header, claims] = payload.split(".")
      expect((await send(`${header}.${claims}.${"A".repeat(86)}`)).reason).toBe("PROVIDER_TOKEN_INVALID")
      expect((await send(await world.idpB.mint())).reason).toBe("PROVIDER_TOKEN_INVALID")
      expect((await send("x")).reason).toBe("PROVIDER_TOKEN_INVALID")
    })

    test("as a sign-in token", async () => {
      const idToken = await world.idpB.notify({ event: { sub: "login" }, claims: { jti: "login", nonce: "n-1" } })
      const body = { appId: world.app.id, platform: "WEB", nonce: "n-1", idToken }
      expect((await world.post("/auth/login/idp-b", body)).reason).toBe("PROVIDER_TOKEN_INVALID")
    })
  })
})
