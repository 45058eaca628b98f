// Somebody who stole an unused ID token or a sign-in transaction cannot sign in with it.
import { create, toJson } from "@bufbuild/protobuf"
import { newId } from "@signet/kernel/ids"
import { ExternalLoginRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { Platform, Provider } from "@signet/proto/auth/v1/records"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const redirectUri = "https://notes.example/callback"
const otherRedirectUri = "https://notes.example/other"
/** BASE64URL(SHA-256("v" repeated 43 times)). */
const challenge = await crypto.subtle
  .digest("SHA-256", new TextEncoder().encode("v".repeat(43)))
  .then((digest) => Buffer.from(digest).toString("base64url"))

describeStory("a sign-in that the service started", (kind) => {
  let server: TestServer
  let otherApp: TestServer["app"]
  beforeAll(async () => {
    server = await startTestServer({ store: kind, client: { redirectUris: [redirectUri, otherRedirectUri] } })
    const id = <K extends "app" | "pcl">(of: K) => newId(of, server.deps.clock.nowMs(), server.deps.random.bytes(10))
    otherApp = { ...server.app, id: id("app"), name: "Other" }
    await server.deps.store.transaction(async (tx) => {
      await tx.apps.putApp(otherApp)
      await tx.apps.putProviderClient({ ...server.client, id: id("pcl"), appId: otherApp.id })
      // The same clients of the provider, on another platform.
      await tx.apps.putProviderClient({ ...server.client, id: id("pcl"), platform: "IOS" })
    })
  })
  afterAll(() => server?.close())

  const way = () => ({ appId: server.app.id, provider: Provider.IDP_A, platform: Platform.WEB })
  const deviceId = "device-1"
  let subjects = 0
  const idTokenFor = (nonce: string) =>
    server.idp.mint({ claims: { sub: `started ${kind} ${++subjects}`, nonce, jti: `t-${subjects}` } })

  const names = Object.keys(protocols)
  describe.each(kind === "pglite" ? names : names.slice(0, 1).concat("REST"))("over %s", (protocol) => {
    let clients: Clients
    beforeAll(() => {
      clients = clientsOver((protocols[protocol] ?? expect.unreachable)(server.url))
    })
    const start = (change: object = {}) => clients.auth.startSignIn({ ...way(), deviceId, ...change })
    const present = (idToken: string, change: object = {}) =>
      clients.auth.externalLogin({
        ...way(),
        device: { deviceId },
        credential: { case: "idToken", value: idToken },
        ...change,
      })

    test("signs in with its transaction, whether the request repeats the nonce or not", async () => {
      for (const isSaid of [true, false]) {
        const { nonce, transaction } = await start()
        const answer = await present(await idTokenFor(nonce), { transaction, ...(isSaid ? { nonce } : {}) })
        expect(answer.created).toBe(true)
      }
    })

    test("still works with a nonce that the app made itself", async () => {
      expect((await present(await idTokenFor("n-of-the-app"), { nonce: "n-of-the-app" })).created).toBe(true)
    })

    test("is required: a stolen ID token alone is refused", async () => {
      const { nonce, transaction } = await start()
      const stolen = await idTokenFor(nonce)
      const mine = await start({ deviceId: "thief" })
      const attempts: [string, object][] = [
        ["no nonce", {}],
        ["the nonce that is in the token", { nonce }],
        ["a transaction of their own device", { transaction: mine.transaction, device: { deviceId: "thief" } }],
        ["the same, saying the nonce", { nonce, transaction: mine.transaction, device: { deviceId: "thief" } }],
        ["a transaction that is none", { nonce, transaction: "AAAA" }],
        ["text for a transaction", { nonce, transaction: "not base64url!" }],
        ["the transaction, from another device", { transaction, device: { deviceId: "thief" } }],
        ["the transaction, from no device", { transaction, device: undefined }],
      ]
      for (const [name, change] of attempts) {
        expect([name, await refusal(present(stolen, change))]).toEqual([name, "Unauthenticated NONCE_MISMATCH"])
      }
      // The owner can still sign in after the attempts.
      expect((await present(stolen, { transaction })).created).toBe(true)
    })

    test("prevents a thief from linking the ID token to their own account", async () => {
      const thief = await present(await idTokenFor("n-thief"), { nonce: "n-thief" })
      const { nonce } = await start()
      const request = { provider: Provider.IDP_A, platform: Platform.WEB, nonce }
      const credential = { case: "idToken", value: await idTokenFor(nonce) } as const
      expect(
        await refusal(clients.account.linkProviderAccount({ ...request, credential }, bearer(thief.accessToken))),
      ).toBe("Unauthenticated NONCE_MISMATCH")
    })

    test("is used once, also with a second token for its nonce and by concurrent calls", async () => {
      const { nonce, transaction } = await start()
      await present(await idTokenFor(nonce), { transaction })
      expect(await refusal(present(await idTokenFor(nonce), { transaction }))).toBe(
        "Unauthenticated PROVIDER_TOKEN_REPLAYED",
      )
      const again = await start()
      const tokens = await Promise.all(Array.from({ length: 5 }, () => idTokenFor(again.nonce)))
      const outcomes = await Promise.allSettled(
        tokens.map((token) => present(token, { transaction: again.transaction })),
      )
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
    })

    test.each<[string, () => object]>([
      ["another app", () => ({ appId: otherApp.id })],
      ["another platform of the app", () => ({ platform: Platform.IOS })],
    ])("is not for %s, whose client at the provider is the same", async (_, other) => {
      const { nonce, transaction } = await start()
      const idToken = await idTokenFor(nonce)
      expect(await refusal(present(idToken, { transaction, ...other() }))).toBe("Unauthenticated NONCE_MISMATCH")
      expect((await present(idToken, { transaction })).created).toBe(true)
    })

    test("accepts a code only with its own redirect URI", async () => {
      expect(await refusal(start({ redirectUri: "https://evil.example/" }))).toBe(
        "InvalidArgument REDIRECT_NOT_ALLOWED",
      )
      const { nonce, transaction } = await start({ redirectUri })
      const code = (uri: string) => {
        const token = { claims: { sub: `code ${++subjects}`, nonce } }
        const codeVerifier = "v".repeat(43)
        const issued = server.idp.issueCode({ codeChallenge: challenge, redirectUri: uri, token })
        return { case: "authorizationCode", value: { code: issued, codeVerifier, redirectUri: uri } } as const
      }
      const changed = present("", { credential: code(otherRedirectUri), transaction })
      expect(await refusal(changed)).toBe("Unauthenticated NONCE_MISMATCH")
      // An ID token is refused where a code is expected.
      expect(await refusal(present(await idTokenFor(nonce), { transaction }))).toBe("Unauthenticated NONCE_MISMATCH")
      expect((await present("", { credential: code(redirectUri), transaction })).created).toBe(true)
    })

    test("is refused for a provider without nonces and for a missing app", async () => {
      expect(await refusal(start({ provider: Provider.IDP_C }))).toMatch(/ PROVIDER_NOT_CONFIGURED$/)
      expect(await refusal(start({ appId: "app_00000000000000000000000000" }))).toMatch(/ PROVIDER_NOT_CONFIGURED$/)
    })
  })

  test("expires after ten minutes", async () => {
    const { auth } = clientsOver((protocols["Connect JSON over HTTP/1.1"] ?? expect.unreachable)(server.url))
    const { nonce, transaction } = await auth.startSignIn({ ...way(), deviceId })
    server.advance(600_000)
    const credential = { case: "idToken", value: await idTokenFor(nonce) } as const
    expect(await refusal(auth.externalLogin({ ...way(), device: { deviceId }, transaction, credential }))).toBe(
      "Unauthenticated NONCE_MISMATCH",
    )
  })

  test.runIf(isLong)("stores nothing, even if strangers start it a hundred times", async () => {
    const { auth } = clientsOver((protocols["Connect JSON over HTTP/1.1"] ?? expect.unreachable)(server.url))
    const count = async () => (await server.store.db.selectFrom("id_token_use").select("token_hash").execute()).length
    const before = await count()
    for (let i = 0; i < 100; i++) await auth.startSignIn({ ...way(), deviceId: `stranger ${i}` })
    expect(await count()).toBe(before)
  })

  test("appears in no error and no audit event", async () => {
    const { auth } = clientsOver((protocols["Connect JSON over HTTP/1.1"] ?? expect.unreachable)(server.url))
    const { nonce, transaction } = await auth.startSignIn({ ...way(), deviceId })
    const credential = { case: "idToken", value: await idTokenFor(nonce) } as const
    const request = create(ExternalLoginRequestSchema, {
      ...way(),
      device: { deviceId: "thief" },
      transaction,
      credential,
    })
    const answer = await fetch(`${server.url}/auth/login/idp-a`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(toJson(ExternalLoginRequestSchema, request)),
    })
    const text = await answer.text()
    expect(JSON.parse(text)).toMatchObject({ reason: "NONCE_MISMATCH", metadata: { field: "device_id" } })
    const events = JSON.stringify(await server.store.db.selectFrom("audit_event").selectAll().execute())
    for (const secret of [transaction, nonce]) expect(text + events).not.toContain(secret)
  })
})
