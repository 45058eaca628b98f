// test/story/redirect-sign-in.test.ts has the sign-in against a service and a stand-in provider.
import { createHash } from "node:crypto"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { createRouterTransport } from "@connectrpc/connect"
import { AuthService, type ExternalLoginRequest, type SignInOptionSchema } from "@signet/proto/auth/v1/auth_service"
import { ProviderClient_NonceMode as NonceMode } from "@signet/proto/auth/v1/provider_clients"
import { Provider } from "@signet/proto/auth/v1/records"
import { describe, expect, test } from "vitest"
import type { BeginSignIn } from "../client.ts"
import { createSignet } from "../create-signet.ts"
import type { SecretBox } from "../secret-box.ts"
import { memoryPlatforms, testClock } from "../testing/memory-platform.ts"

type Option = Extract<MessageInitShape<typeof SignInOptionSchema>, { $typeName?: never }>

const redirectUri = "https://notes.example/callback"
const idpA: Option = {
  ...{ provider: Provider.IDP_A, clientId: "c", authorizationEndpoint: "https://idp.example/a", scopes: ["openid"] },
  ...{ issuers: ["https://idp.example"], requiresResponseIssuer: false, nonceMode: NonceMode.RAW },
}
const whole = {
  ...{ session: { id: "ses_1" }, identity: { id: "idn_1" }, principal: { id: "prn_1" } },
  ...{ accessTokens: { auth: "token" }, refreshToken: "next", expiresIn: 600 },
}

/** A client whose service has these options, and the sign-ins that the service got. */
async function worldOf(...options: Option[]) {
  const logins: ExternalLoginRequest[] = []
  const clock = testClock()
  const wire = () =>
    createRouterTransport(({ service }) => {
      service(AuthService, {
        listSignInOptions: () => ({ options }),
        startSignIn: () => ({ nonce: "sgn_1", transaction: "t" }),
        externalLogin(request) {
          logins.push(request)
          return whole
        },
      })
    })
  // Seals nothing, so that a test can change what is stored.
  const open: Pick<SecretBox, "seal" | "open"> = {
    seal: async (_, __, plaintext) => plaintext.slice(),
    open: async (_, __, sealed) => sealed.slice(),
  }
  const platforms = memoryPlatforms({ clock, wire })
  const usual = platforms.tab()
  const box = usual.refreshToken.in === "box" ? { ...usual.refreshToken.box, ...open } : expect.fail("no box")
  const config = { appId: "app_01kdvdna00edmtevk5ehj6axhg", authBaseUrl: "https://auth.example" }
  const signet = createSignet({ ...config, providers: ["IDP_A"] }, { ...usual, refreshToken: { in: "box", box } })
  await signet.session.ready
  const begin = (of: Partial<BeginSignIn> = {}) => signet.beginSignIn({ redirectUri, ...of })
  const back = (state: string, change: Record<string, string> = {}) =>
    `${redirectUri}?${new URLSearchParams({ code: "code", state, ...change })}`
  const finish = async (address: string) => (await signet.openCallback(address))?.finish()
  return { signet, logins, clock, storage: platforms.storage, begin, back, finish }
}

const reasonOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "none",
    (error: unknown) => String(Object(error).reason ?? error),
  )

describe("a redirect", () => {
  test.each<[string, Option[], string | undefined, string]>([
    ["the only connection", [idpA], undefined, "none"],
    ["the only connection, which has a name", [{ ...idpA, connection: "a" }], undefined, "none"],
    ["the default of several", [{ ...idpA, connection: "a" }, idpA], undefined, "none"],
    ["the named one", [idpA, { ...idpA, connection: "a" }], "a", "none"],
    [
      "none of several that have names",
      [
        { ...idpA, connection: "a" },
        { ...idpA, connection: "b" },
      ],
      undefined,
      "CONNECTION_REQUIRED",
    ],
    [
      "an empty name for several",
      [
        { ...idpA, connection: "a" },
        { ...idpA, connection: "b" },
      ],
      "",
      "CONNECTION_REQUIRED",
    ],
    ["an unknown one", [idpA], "b", "CONNECTION_UNKNOWN"],
    ["one of another provider", [{ ...idpA, provider: Provider.IDP_B }], undefined, "PROVIDER_NOT_ENABLED"],
    [
      "one without an authorization endpoint",
      [{ ...idpA, authorizationEndpoint: "" }],
      undefined,
      "PROVIDER_NOT_ENABLED",
    ],
    ["none", [], undefined, "PROVIDER_NOT_ENABLED"],
    [
      "an endpoint without TLS",
      [{ ...idpA, authorizationEndpoint: "http://idp.example/a" }],
      undefined,
      "ANSWER_INVALID",
    ],
    ["a script", [{ ...idpA, authorizationEndpoint: "javascript:alert(1)" }], undefined, "ANSWER_INVALID"],
    ["no address", [{ ...idpA, authorizationEndpoint: "idp.example" }], undefined, "ANSWER_INVALID"],
  ])("to %s", async (_, options, connection, reason) => {
    const { begin } = await worldOf(...options)
    expect(await reasonOf(begin(connection === undefined ? {} : { connection }))).toBe(reason)
  })

  test("is offered for a provider and connection with an authorization endpoint", async () => {
    const { signet } = await worldOf(
      idpA,
      { ...idpA, authorizationEndpoint: "" },
      { ...idpA, provider: Provider.IDP_B },
      { ...idpA, provider: 9 as Provider },
    )
    const listed = (await signet.signInOptions()).map(({ provider, canRedirect }) => [provider, canRedirect])
    expect(listed).toEqual([
      ["IDP_A", true],
      ["IDP_A", false],
      ["IDP_B", false],
      ["unknown", false],
    ])
  })

  test.each([
    [NonceMode.RAW, undefined],
    [NonceMode.SHA256_HEX, "hex"],
    [NonceMode.SHA256_B64URL, "base64url"],
  ] as const)("carries the nonce in the provider's mode %j", async (nonceMode, encoding) => {
    const { begin } = await worldOf({ ...idpA, nonceMode })
    const carried = encoding === undefined ? "sgn_1" : createHash("sha256").update("sgn_1").digest(encoding)
    expect(new URL((await begin()).url).searchParams.get("nonce")).toBe(carried)
  })

  test("leads back to a path of at most 2,048 characters", async () => {
    const { begin } = await worldOf(idpA)
    expect(await reasonOf(begin({ returnTo: `/${"a".repeat(2_047)}` }))).toBe("none")
    expect(await reasonOf(begin({ returnTo: `/${"a".repeat(2_048)}` }))).toBe("RETURN_PATH_INVALID")
  })
})

describe("a callback", () => {
  test("has the display and the options of its redirect", async () => {
    const { signet, begin, back, logins } = await worldOf(idpA)
    const options = { tenantId: "ten_1", contextId: "ctx_1", invitationCode: "i", cancelDeletion: true }
    const { state } = await begin({ ...options, display: "popup", returnTo: "/notes" })
    const callback = await signet.openCallback(back(state))
    expect(callback).toMatchObject({ display: "popup", returnTo: "/notes" })
    await callback?.finish()
    expect(logins).toMatchObject([options])
  })

  test("of one redirect leaves the others pending", async () => {
    const { begin, back, finish } = await worldOf(idpA)
    const [first, second] = [await begin(), await begin()]
    expect(await reasonOf(finish(back(first.state)))).toBe("none")
    expect(await reasonOf(finish(back(first.state)))).toBe("CALLBACK_INVALID")
    expect(await reasonOf(finish(back(second.state)))).toBe("none")
  })

  test("without iss is refused if the provider always sends it (RFC 9207)", async () => {
    const { begin, back, finish } = await worldOf({ ...idpA, requiresResponseIssuer: true })
    expect(await reasonOf(finish(back((await begin()).state)))).toBe("CALLBACK_ISSUER_MISMATCH")
    expect(await reasonOf(finish(back((await begin()).state, { iss: "https://idp.example" })))).toBe("none")
  })

  test.each(["a b", "x".repeat(65), "ü"])("does not repeat the error %j, which is no code", async (error) => {
    const { begin, back, finish } = await worldOf(idpA)
    const address = back((await begin()).state, { error })
    await expect(finish(address)).rejects.toMatchObject({ reason: "PROVIDER_REFUSED", metadata: { error: "unknown" } })
  })

  test("with an empty code is none", async () => {
    const { signet, begin, back } = await worldOf(idpA)
    expect(await signet.openCallback(back((await begin()).state, { code: "" }))).toBeUndefined()
  })

  const members = ["state", "createdAtMs", "nonce", "transaction", "codeVerifier", "connection", "redirectUri"]
  test.each([...members, "issuers", "requiresIssuer", "returnTo"])(
    "is refused if the stored %s is of another type",
    async (member) => {
      const { begin, back, finish, storage } = await worldOf(idpA)
      const { state } = await begin()
      const [name, kept] =
        [...storage.all].find(([, { bytes }]) => text(bytes).includes(state)) ?? expect.fail("not stored")
      const store = (all: unknown) => storage.all.set(name, { ...kept, bytes: Buffer.from(JSON.stringify(all)) })
      const [one] = JSON.parse(text(kept.bytes))
      store([{ ...one, [member]: member === "issuers" ? [5] : {} }, null])
      expect(await reasonOf(finish(back(state)))).toBe("CALLBACK_INVALID")
      store([{ ...one, issuers: "https://idp.example" }])
      expect(await reasonOf(finish(back(state)))).toBe("CALLBACK_INVALID")
      store({ ...one })
      expect(await reasonOf(finish(back(state)))).toBe("CALLBACK_INVALID")
      store([one])
      expect(await reasonOf(finish(back(state)))).toBe("none")
    },
  )
})

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString()
