// Attacks with tokens that IDP_B signed, or that look as if it had.

import { afterAll, beforeAll, expect, test } from "vitest"
import { teamId } from "../../server/development/idp-b-clients.ts"
import { adaSubject, type FakeIdpB, type MintBOptions, startFakeIdpB } from "../support/idp-b.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

describeStory("a credential of IDP_B", (kind) => {
  let server: TestServer
  let idp: FakeIdpB
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    idp = await startFakeIdpB({ clock: server.deps.clock, secrets: server.secrets })
    await server.store.store.transaction(async (tx) => {
      for (const platform of ["WEB", "IOS"] as const) {
        await tx.apps.putProviderClient(idp.clientOf(platform, { appId: server.app.id }))
      }
      await tx.apps.putProviderClient(idp.clientOf("ANDROID", { appId: server.app.id, status: "DISABLED" }))
    })
  })
  afterAll(() => Promise.all([server?.close(), idp?.stop()]))

  async function post(body: object, provider = "idp-b"): Promise<{ reason?: string; identity?: object }> {
    const response = await fetch(`${server.url}/auth/login/${provider}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ appId: server.app.id, platform: "WEB", nonce: "n-1", ...body }),
    })
    return await response.json()
  }
  const tokenOf = (options: MintBOptions = {}) =>
    idp.mint({ ...options, claims: { jti: String(Math.random()), ...options.claims } })

  test("is accepted once, and only on its own platform", async () => {
    const idToken = await tokenOf()
    expect(await post({ idToken })).toHaveProperty("identity")
    expect((await post({ idToken })).reason).toBe("PROVIDER_TOKEN_REPLAYED")
    const forIos = await tokenOf({ platform: "IOS" })
    expect((await post({ idToken: forIos })).reason).toBe("PROVIDER_TOKEN_INVALID")
    expect(await post({ idToken: forIos, platform: "IOS" })).toHaveProperty("identity")
  })

  test("from a code is accepted once across all clients", async () => {
    const { code, redirectUri } = { code: idp.issueCode(), redirectUri: idp.clientOf("WEB").redirectUris[0] }
    expect(await post({ authorizationCode: { code, redirectUri } })).toHaveProperty("identity")
    expect((await post({ authorizationCode: { code, redirectUri } })).reason).toBe("PROVIDER_TOKEN_INVALID")
    const stolen = idp.issueCode({ platform: "IOS" })
    expect((await post({ authorizationCode: { code: stolen, redirectUri } })).reason).toBe("PROVIDER_TOKEN_INVALID")
  })

  test("from another user's sign-in is refused: the nonce binds the code", async () => {
    const injected = { authorizationCode: { code: idp.issueCode({ platform: "IOS" }) }, platform: "IOS" }
    expect((await post({ ...injected, nonce: "mine" })).reason).toBe("NONCE_MISMATCH")
    expect((await post({ ...injected, nonce: "" })).reason).toBe("NONCE_MISMATCH")
  })

  test("is refused as IDP_A's, and IDP_A's token is refused as IDP_B's", async () => {
    const { clientId } = server.client
    const claims = { iss: server.client.canonicalIssuer, aud: clientId, azp: clientId }
    expect((await post({ idToken: await tokenOf({ claims }) }, "idp-a")).reason).toBe("PROVIDER_TOKEN_INVALID")
    const { issuers, audiences } = idp.clientOf("WEB")
    const ofA = { iss: issuers[0], aud: audiences[0], azp: audiences[0], sub: adaSubject }
    expect((await post({ idToken: await server.idp.mint({ claims: ofA }) })).reason).toBe("PROVIDER_TOKEN_INVALID")
    expect((await post({ idToken: await server.idp.mint() })).reason).toBe("PROVIDER_TOKEN_INVALID")
  })

  test.each<[string, MintBOptions]>([
    ["another team's app", { claims: { aud: "com.evil.app" } }],
    ["another app that got it through ours", { claims: { azp: "com.evil.app" } }],
    ["another issuer", { claims: { iss: "https://idp-b.evil" } }],
    ["a team that it names itself", { claims: { aud: teamId } }],
  ])("of %s signs nobody in", async (_, options) => {
    expect((await post({ idToken: await tokenOf(options) })).reason).toBe("PROVIDER_TOKEN_INVALID")
  })

  test("is refused for a disabled client", async () => {
    expect((await post({ idToken: await tokenOf({ platform: "ANDROID" }), platform: "ANDROID" })).reason).toBe(
      "PROVIDER_DISABLED",
    )
  })

  test("is refused as a bearer token", async () => {
    const headers = { authorization: `Bearer ${await tokenOf()}` }
    expect((await fetch(`${server.url}/auth/session/me`, { headers })).status).toBe(401)
  })

  test("is refused if it is a notification", async () => {
    expect((await post({ idToken: await idp.notify() })).reason).toBe("PROVIDER_TOKEN_INVALID")
  })
})
