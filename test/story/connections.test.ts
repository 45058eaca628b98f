// Several connections of one provider: each with its own issuer, selected by name, and listed for a sign-in page.
import { newId } from "@signet/kernel/ids"
import type { ProviderClient } from "@signet/kernel/records"
import { Platform, Provider } from "@signet/proto/auth/v1/records"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type AdministeredWorld, administeredWorld } from "../support/administration.ts"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { type FakeIdp, startFakeIdp } from "../support/idp.ts"
import { describeStory } from "../support/postgres.ts"
import { createRestTransport } from "../support/rest-transport.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

describeStory("connections", (kind) => {
  let server: TestServer
  let clients: Clients
  let world: AdministeredWorld
  let second: FakeIdp
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    second = await startFakeIdp({ nowMs: server.deps.clock.nowMs })
    clients = clientsOver(transportOf(server))
    world = await administeredWorld(server, clients)
  })
  afterAll(async () => {
    await second?.stop()
    await server?.close()
  })

  const put = (change: Partial<ProviderClient>) => {
    const id = newId("pcl", server.deps.clock.nowMs(), server.deps.random.bytes(10))
    const client = { ...server.client, id, ...change }
    return server.deps.store.transaction((tx) => tx.apps.putProviderClient(client)).then(() => client)
  }
  const atSecond = () => ({
    ...{ issuers: [second.issuer], canonicalIssuer: second.issuer, jwksUri: second.jwksUri },
    ...{ connection: "second", displayName: "The second", tokenEndpoint: second.tokenEndpoint },
  })
  const detailOf = async (call: Promise<unknown>) =>
    call.then(
      () => "none",
      (error: unknown) => JSON.stringify(Object(error).details ?? Object(error)),
    )

  test("each authenticates its own people, and accepts no token of another", async () => {
    await put(atSecond())
    const subject = { claims: { sub: "same subject" } }
    const request = (idToken: string, connection: string) => ({
      ...{ appId: server.app.id, provider: Provider.IDP_A, platform: Platform.WEB, nonce: "n-1", connection },
      credential: { case: "idToken", value: idToken } as const,
    })
    const first = await clients.auth.externalLogin(request(await server.idp.mint(subject), ""))
    const other = await clients.auth.externalLogin(request(await second.mint(subject), "second"))
    expect(first.created && other.created).toBe(true)
    expect(first.identity?.id).not.toBe(other.identity?.id)
    const again = await clients.auth.externalLogin(
      request(await second.mint({ claims: { ...subject.claims, jti: "2" } }), "second"),
    )
    expect(again.principal?.id).toBe(other.principal?.id)

    const crossed = request(await second.mint({ claims: { sub: "crossed" } }), "")
    expect(await refusal(clients.auth.externalLogin(crossed))).toBe("Unauthenticated PROVIDER_TOKEN_INVALID")
    const back = request(await server.idp.mint({ claims: { sub: "crossed" } }), "second")
    expect(await refusal(clients.auth.externalLogin(back))).toBe("Unauthenticated PROVIDER_TOKEN_INVALID")
  })

  test("an unknown name, and a missing name among several connections, are refused with the possible names", async () => {
    const of = { appId: world.other.id, provider: Provider.IDP_A, platform: Platform.IOS }
    const { providerClient: google } = await clients.admin.createProviderClient(
      { appId: of.appId, providerClient: { ...administered(), connection: "google" } },
      world.as("root"),
    )
    expect(google?.connection).toBe("google")
    const login = (connection: string) =>
      clients.auth.externalLogin({
        ...of,
        nonce: "n-1",
        connection,
        credential: { case: "idToken", value: "e30.e30.e30" },
      })
    // A single connection needs no name: the refusal is about the token.
    expect(await refusal(login(""))).toBe("Unauthenticated PROVIDER_TOKEN_INVALID")
    await clients.admin.createProviderClient(
      { appId: of.appId, providerClient: { ...administered(), connection: "okta" } },
      world.as("root"),
    )
    expect(await refusal(login(""))).toBe("InvalidArgument CONNECTION_REQUIRED")
    expect(await refusal(login("entra"))).toBe("InvalidArgument CONNECTION_UNKNOWN")
    expect(await detailOf(login(""))).toContain("google,okta")
    expect(await refusal(login("Google"))).toBe("InvalidArgument INVALID_FIELD")
    expect(
      await refusal(
        clients.auth.externalLogin({
          ...of,
          platform: Platform.ANDROID,
          nonce: "n-1",
          connection: "google",
          credential: { case: "idToken", value: "e30.e30.e30" },
        }),
      ),
    ).toBe("FailedPrecondition PROVIDER_NOT_CONFIGURED")
  })

  const administered = () => ({
    ...{ provider: Provider.IDP_A, platform: Platform.IOS, clientId: `ios-${Math.random()}` },
    ...{ issuers: [server.idp.issuer], jwksUri: server.idp.jwksUri },
  })

  test("a name is unique per provider and platform, and never changes", async () => {
    const create = () =>
      clients.admin.createProviderClient(
        { appId: world.app.id, providerClient: { ...administered(), connection: "twice" } },
        world.as("root"),
      )
    const { providerClient } = await create()
    expect(await refusal(create())).toBe("AlreadyExists ALREADY_EXISTS")
    const of = { appId: world.app.id, providerClientId: providerClient?.id ?? "" }
    const rename = { ...of, providerClient: { connection: "once" } }
    expect(await refusal(clients.admin.updateProviderClient(rename, world.as("root")))).toBe(
      "InvalidArgument OUTPUT_ONLY_FIELD",
    )
    const shown = { ...of, providerClient: { displayName: "Twice" } }
    expect((await clients.admin.updateProviderClient(shown, world.as("root"))).providerClient).toMatchObject({
      ...{ connection: "twice", displayName: "Twice" },
    })
  })

  test("an app's administrator adds a well-known provider by its preset, without an address", async () => {
    const create = (of: object) =>
      clients.admin.createProviderClient(
        {
          appId: world.app.id,
          providerClient: {
            ...{ provider: Provider.IDP_A, platform: Platform.WEB, clientId: `web-${Math.random()}` },
            ...of,
          },
        },
        world.as("admin"),
      )
    const { providerClient } = await create({ connection: "okta", preset: "okta", presetTenant: "example.okta.com" })
    expect(providerClient).toMatchObject({
      ...{ issuers: ["https://example.okta.com"], canonicalIssuer: "https://example.okta.com", displayName: "Okta" },
      ...{ tokenEndpoint: "https://example.okta.com/oauth2/v1/token", requireNonce: true, preset: "" },
    })
    const named = await create({ connection: "named", preset: "google", displayName: "Our own" })
    expect(named.providerClient?.displayName).toBe("Our own")
    const kept = { appId: world.app.id, providerClientId: providerClient?.id ?? "" }
    const changes = [
      { jwksUri: "https://evil.example/keys" },
      { authorizationEndpoint: "https://evil.example/authorize" },
      { tokenEndpoint: "https://evil.example/token" },
      { issuers: ["https://example.okta.com", "https://accounts.google.com"] },
      { preset: "google" },
      { presetTenant: "other.okta.com" },
    ]
    for (const change of changes) {
      const call = clients.admin.updateProviderClient({ ...kept, providerClient: change }, world.as("admin"))
      expect(await refusal(call)).toBe("InvalidArgument OUTPUT_ONLY_FIELD")
    }
    const attempts: [object, string][] = [
      [{ preset: "okta", presetTenant: "evil.example" }, "INVALID_FIELD"],
      [{ preset: "unheard-of" }, "INVALID_FIELD"],
      [{ preset: "google", jwksUri: "https://evil.example/keys" }, "INVALID_FIELD"],
      [{ preset: "google", issuers: ["https://evil.example"] }, "INVALID_FIELD"],
      [{ preset: "google", authorizationEndpoint: "https://evil.example/a" }, "INVALID_FIELD"],
      [{ presetTenant: "example.okta.com" }, "INVALID_FIELD"],
      [{ preset: "google", provider: Provider.IDP_B }, "INVALID_FIELD"],
      // Without a preset, an app's administrator cannot set an issuer.
      [{ issuers: ["https://evil.example"], jwksUri: "https://evil.example/keys" }, "OUTPUT_ONLY_FIELD"],
    ]
    for (const [of, reason] of attempts) {
      expect(await refusal(create({ connection: "evil", ...of }))).toBe(`InvalidArgument ${reason}`)
    }
  })

  describe.each([["Connect"], ["REST"]])("the list of options over %s", (protocol) => {
    const auth = () => (protocol === "REST" ? clientsOver(createRestTransport(server.url)).auth : clients.auth)

    test("has the data for a page and a client, and no secret", async () => {
      const secret = server.secrets.seal("x" as never, new TextEncoder().encode("s3cret"))
      const hidden = { clientSecretSealed: secret, hostedDomains: ["hidden.example"] }
      const shown = { authorizationEndpoint: "https://idp.example/authorize", requiresResponseIssuer: true }
      const connection = `list-${protocol.toLowerCase()}`
      const client = await put({ ...hidden, ...shown, platform: "WEB", connection, displayName: "Listed" })
      const off = await put({ connection: `off-${connection}`, status: "DISABLED" })
      const { options } = await auth().listSignInOptions({ appId: server.app.id, platform: Platform.WEB })
      expect(options.find((one) => one.connection === connection)).toMatchObject({
        ...{ provider: Provider.IDP_A, displayName: "Listed", clientId: client.clientId },
        ...{ authorizationEndpoint: shown.authorizationEndpoint, scopes: ["openid", "email", "profile"] },
        ...{ issuers: client.issuers, requiresResponseIssuer: true },
      })
      expect(options.map((one) => one.connection)).not.toContain(off.connection)
      const text = JSON.stringify(options)
      for (const word of ["ecret", "jwks", "token", "hidden.example"]) expect(text).not.toContain(word)
    })

    test("names a connection without a display name by its own name, and the only one by its provider", async () => {
      const appId = newId("app", 2, server.deps.random.bytes(10))
      await server.deps.store.transaction((tx) => tx.apps.putApp({ ...server.app, id: appId }))
      const named = async () =>
        (await auth().listSignInOptions({ appId, platform: Platform.WEB })).options.map((one) => one.displayName)
      await put({ appId, platform: "WEB", displayName: "" })
      expect(await named()).toEqual(["IDP_A"])
      await put({ appId, platform: "WEB", displayName: "", connection: "unnamed" })
      expect((await named()).toSorted()).toEqual(["IDP_A", "unnamed"])
      await server.deps.store.transaction((tx) => tx.apps.putApp({ ...server.app, id: appId, status: "SUSPENDED" }))
      expect(await refusal(named())).toContain("TENANT_SUSPENDED")
    })

    test("answers alike for an unknown app and an app without connections", async () => {
      const unknown = newId("app", 1, new Uint8Array(10).fill(7))
      for (const of of [
        { appId: unknown, platform: Platform.WEB },
        { appId: server.app.id, platform: Platform.ANDROID },
      ]) {
        expect(await refusal(auth().listSignInOptions(of))).toContain("PROVIDER_NOT_CONFIGURED")
      }
    })
  })

  test("a disabled connection signs nobody in and ends its own sessions only", async () => {
    const ofSecond = await put({ ...atSecond(), connection: "switched", platform: "IOS" })
    const { accessToken: stays } = await clients.auth.externalLogin(await server.login("stays signed in"))
    const request = (idToken: string) => ({
      ...{ appId: server.app.id, provider: Provider.IDP_A, platform: Platform.IOS, nonce: "n-1" },
      ...{ connection: "switched", credential: { case: "idToken", value: idToken } as const },
    })
    const { accessToken: goes } = await clients.auth.externalLogin(
      request(await second.mint({ claims: { sub: "is signed out" } })),
    )
    const named = { appId: server.app.id, providerClientId: ofSecond.id }
    const sessions = async () => (await clients.admin.getProviderClient(named, world.as("root"))).activeSessions
    expect(await sessions()).toBe(1)
    await clients.admin.disableProviderClient(named, world.as("root"))
    expect(await sessions()).toBe(0)
    expect(await refusal(clients.auth.me({}, bearer(goes)))).toMatch(/^Unauthenticated/)
    expect((await clients.auth.me({}, bearer(stays))).session?.current).toBe(true)
    expect(await refusal(clients.auth.externalLogin(request(await second.mint())))).toBe(
      "PermissionDenied PROVIDER_DISABLED",
    )
  })

  test("the audit names the connection of each sign-in and each refusal", async () => {
    const client = await put({ ...atSecond(), connection: "audited", platform: "ANDROID" })
    const request = (idToken: string) => ({
      ...{ appId: server.app.id, provider: Provider.IDP_A, platform: Platform.ANDROID, nonce: "n-1" },
      ...{ connection: "audited", credential: { case: "idToken", value: idToken } as const },
    })
    await clients.auth.externalLogin(request(await second.mint({ claims: { sub: "is audited" } })))
    expect(await refusal(clients.auth.externalLogin(request(await server.idp.mint())))).toMatch(
      /PROVIDER_TOKEN_INVALID/,
    )
    const rows = await server.store.db
      .selectFrom("audit_event")
      .select(["kind"])
      .where("target_id", "=", client.id)
      .orderBy("occurred_at")
      .execute()
    expect(rows.map(({ kind }) => kind)).toEqual(["login.succeeded", "login.failed"])
  })

  test("a linked way of signing in names its connection, too", async () => {
    await put({ ...atSecond(), connection: "linked", platform: "IOS" })
    await put({ platform: "IOS", connection: "another" })
    const login = await server.login("links a second way")
    const { accessToken } = await clients.auth.externalLogin(login)
    const link = (connection: string, idToken: string) =>
      clients.account.linkProviderAccount(
        {
          ...{ provider: Provider.IDP_A, platform: Platform.IOS, nonce: "n-1", connection },
          credential: { case: "idToken", value: idToken },
        },
        bearer(accessToken),
      )
    expect(await refusal(link("", await second.mint()))).toBe("InvalidArgument CONNECTION_REQUIRED")
    const { providerAccount } = await link("linked", await second.mint({ claims: { sub: "a second way" } }))
    expect(providerAccount?.issuer).toBe(second.issuer)
  })
})

function transportOf(server: TestServer) {
  const create = protocols["Connect JSON over HTTP/1.1"]
  if (create === undefined) throw new Error("no such protocol")
  return create(server.url)
}
