// Each provider on each platform, and the identities of its accounts.

import type { newId } from "@signet/kernel/ids"
import { clientSecretLabel } from "@signet/kernel/keys/sealed-columns"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { describeStory } from "../support/postgres.ts"
import { type Answer, password, platforms, type SignInWorld, startSignInWorld } from "../support/sign-in-world.ts"

describeStory("a person", (kind) => {
  let world: SignInWorld
  beforeAll(async () => {
    world = await startSignInWorld({ store: kind })
  })
  afterAll(() => world?.close())

  const accountsOf = async ({ accessToken = "" }: Answer) =>
    (await world.get("/auth/session/me", accessToken)).providerAccounts
  const idOf = ({ identity }: Answer) => identity?.id

  describe.each(platforms)("on %s", (platform) => {
    test("signs in with IDP_A by ID token", async () => {
      const answer = await world.signInA(`a ${platform}`, { platform })
      expect(answer).toMatchObject({ status: 200, created: true, membership: { appId: world.app.id } })
    })

    test("signs in with IDP_A by code", async () => {
      const { clientId } = await world.clientOf(world.app.id, "IDP_A", platform)
      const codeVerifier = "v".repeat(43)
      const redirectUri = "https://notes.example/callback"
      const claims = { sub: `a code ${platform}`, aud: clientId, azp: clientId }
      const code = world.server.idp.issueCode({ codeVerifier, redirectUri, token: { claims } })
      const answer = await world.post("/auth/login/idp-a", {
        appId: world.app.id,
        platform,
        nonce: "n-1",
        authorizationCode: { code, codeVerifier, redirectUri },
      })
      expect(answer).toMatchObject({ status: 200, created: true })
    })

    test("signs in with IDP_B, by bundle id on iOS and services id elsewhere", async () => {
      const { clientId } = await world.clientOf(world.app.id, "IDP_B", platform)
      expect((await world.signInB(`b ${platform}`, { platform })).created).toBe(true)
      const [other = "WEB"] = platforms.filter((each) => (each === "IOS") !== (platform === "IOS"))
      const { reason } = await world.signInB(`b ${platform}`, { platform: other, claims: { aud: clientId } })
      expect(reason).toBe("PROVIDER_TOKEN_INVALID")
    })

    test("signs in with IDP_C by password and by link, as one identity", async () => {
      const email = `c-${platform.toLowerCase()}@example.com`
      const { id } = await world.idpC.addPerson({ email, password, isConfirmed: true })
      const first = await world.signInC(email, { body: { platform } })
      expect(first).toMatchObject({ status: 200, created: true, identity: { primaryEmail: email } })
      expect((await world.startLink(email, { platform })).status).toBe(204)
      const second = await world.confirmLink(world.linkOf(email), { platform })
      expect(second.status).toBe(200)
      expect(idOf(second)).toBe(idOf(first))
      expect(second.created ?? false).toBe(false)
      const { canonicalIssuer, providerTenant } = await world.clientOf(world.app.id, "IDP_C", platform)
      const key = { provider: "IDP_C", issuer: canonicalIssuer, subject: id, providerTenant }
      expect(await accountsOf(second)).toMatchObject([key])
    })
  })

  test("is found by the account's key, and by nothing else", async () => {
    const email = "key@example.com"
    const { id } = await world.idpC.addPerson({ email, password, isConfirmed: true })
    const a = await world.signInA("key", { claims: { email, email_verified: true } })
    const b = await world.signInB("key", { claims: { email, email_verified: "true" } })
    const c = await world.signInC(email)
    const { issuer } = world.server.idp
    const clientB = await world.clientOf(world.app.id, "IDP_B", "WEB")
    const clientC = await world.clientOf(world.app.id, "IDP_C", "WEB")
    const rows = await Promise.all([a, b, c].map(accountsOf))
    expect(rows).toEqual([
      [expect.objectContaining({ provider: "IDP_A", issuer, subject: "key" })],
      [
        expect.objectContaining({
          provider: "IDP_B",
          issuer: clientB.canonicalIssuer,
          subject: "key",
          providerTenant: clientB.providerTenant,
        }),
      ],
      [
        expect.objectContaining({
          provider: "IDP_C",
          issuer: clientC.canonicalIssuer,
          subject: id,
          providerTenant: clientC.providerTenant,
        }),
      ],
    ])
    expect(rows[0]).not.toEqual([expect.objectContaining({ providerTenant: expect.anything() })])
    expect(new Set([a, b, c].map(idOf)).size).toBe(3)
  })

  test.each([
    ["IDP_A", (subject: string, app: SignInWorld["app"]) => world.signInA(subject, { app })],
    ["IDP_B", (subject: string, app: SignInWorld["app"]) => world.signInB(subject, { app })],
    ["IDP_C", (subject: string, app: SignInWorld["app"]) => world.signInC(subject, { body: { appId: app.id } })],
  ])("of %s in two apps with clients of their own is one identity with two memberships", async (provider, signIn) => {
    const subject = `two-${provider.toLowerCase()}@example.com`
    await world.idpC.addPerson({ email: subject, password, isConfirmed: true })
    const first = await signIn(subject, world.app)
    const second = await signIn(subject, world.otherApp)
    expect([first.created, second.created ?? false]).toEqual([true, false])
    expect(idOf(second)).toBe(idOf(first))
    expect([first.membership?.appId, second.membership?.appId]).toEqual([world.app.id, world.otherApp.id])
    expect(second.membership?.id).not.toBe(first.membership?.id)
    expect(second.principal?.id).toBe(first.principal?.id)
  })

  describe("the first time with IDP_B", () => {
    const hints = { name: "Ada Lovelace", email: "Ada@Hints.example" }
    const kept = { name: "Ada Lovelace", email: "Ada@hints.example" }

    test("may pass a name and an address: stored for the membership, and never later", async () => {
      const first = await world.signInB("hints", { body: { profileHints: hints } })
      expect(first.membership?.profile).toEqual(kept)
      expect(first.identity?.primaryEmail).toBe("ada@example.com")
      const again = { profileHints: { name: "Eve", email: "eve@example.com" } }
      expect((await world.signInB("hints", { body: again })).membership?.profile).toEqual(kept)
      const { memberships } = await world.get("/auth/session/me", first.accessToken ?? "")
      expect(memberships).toMatchObject([{ profile: kept }])
    })

    test("requires neither, and ignores an invalid address", async () => {
      const answer = await world.signInB("no hints", { body: { profileHints: { email: "not an address" } } })
      expect(answer.membership?.profile ?? {}).toEqual({})
    })

    test("stores whether the address is a relay's, and each later sign-in updates it", async () => {
      const relay = "x7@privaterelay.example"
      const rowOf = () =>
        world.server.store.db
          .selectFrom("provider_account")
          .select(["email", "is_relay_email"])
          .where("subject", "=", "relayed")
          .executeTakeFirst()
      const enter = (claims: object) => world.signInB("relayed", { claims: { ...claims } })
      await enter({ email: relay, is_private_email: "true" })
      expect(await rowOf()).toEqual({ email: relay, is_relay_email: true })
      await enter({ email: undefined })
      expect(await rowOf()).toEqual({ email: relay, is_relay_email: true })
      await enter({ email: "real@example.com" })
      expect(await rowOf()).toEqual({ email: "real@example.com", is_relay_email: false })
    })

    test("stores the provider's newest refresh token encrypted", async () => {
      const client = await world.clientOf(world.app.id, "IDP_B", "IOS")
      const { clientSecretSealed } = world.idpB.clientOf("IOS", { id: client.id })
      expect(clientSecretSealed).not.toBeNull()
      const sealedNow = async () => {
        const rows = await world.server.store.db
          .selectFrom("provider_account")
          .select(["refresh_token_sealed"])
          .where("provider", "=", "IDP_B")
          .where("refresh_token_sealed", "is not", null)
          .execute()
        return rows.map((row) => Buffer.from(row.refresh_token_sealed ?? []).toString("hex"))
      }
      expect(await sealedNow()).toEqual([])
      await world.changeClient(client, { id: client.id, ...withSecret(client) })
      const enter = () =>
        world.post("/auth/login/idp-b", {
          appId: world.app.id,
          platform: "IOS",
          nonce: "n-1",
          authorizationCode: { code: world.idpB.issueCode({ platform: "IOS" }) },
        })
      expect((await enter()).status).toBe(200)
      const [first = ""] = await sealedNow()
      expect((await enter()).status).toBe(200)
      const [second = "", ...others] = await sealedNow()
      expect(others).toEqual([])
      expect(first.length).toBeGreaterThan(100)
      expect(second).not.toBe(first)
    })

    function withSecret(client: { id: ReturnType<typeof newId<"pcl">> }) {
      const original = world.idpB.clientOf("IOS")
      const text = world.server.secrets.open(clientSecretLabel(original.id), sealedOf(original))
      if (text === undefined) throw new Error("the stand-in's secret does not open")
      return { clientSecretSealed: world.server.secrets.seal(clientSecretLabel(client.id), text) }
    }
    const sealedOf = ({ clientSecretSealed }: { clientSecretSealed: Uint8Array | null }) =>
      clientSecretSealed ?? new Uint8Array()
  })
})
