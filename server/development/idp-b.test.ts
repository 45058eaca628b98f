import type { AddressInfo } from "node:net"
import type { Platform } from "@signet/kernel/records"
import type { FastifyInstance } from "fastify"
import { decodeJwt } from "jose"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { createSecrets } from "../keys/secrets.ts"
import { createHttp } from "../node/http.ts"
import { createIdpB } from "../providers/idp-b.ts"
import { developmentAppId } from "./app-id.ts"
import { createDevelopmentIdpB, type DevelopmentIdpB } from "./idp-b.ts"
import { buildIdpBClients, bundleId, idpBIssuers, servicesId, teamId } from "./idp-b-clients.ts"
import { notificationTypes } from "./idp-b-direct.ts"
import { developmentPlugin } from "./plugin.ts"

const clock = { nowMs: () => Date.now() }
const secrets = createSecrets({
  peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }],
  sealingKey: new Uint8Array(32).fill(2),
})
const idpB = createIdpB({ clock, secrets, isLoopbackAllowed: true })
let app: FastifyInstance
let origin = ""
let idp: DevelopmentIdpB

beforeAll(async () => {
  app = createHttp({
    onFault: (fault) => {
      throw fault
    },
  })
  idp = createDevelopmentIdpB({ profile: "development", origin: () => origin, clock })
  app.register(developmentPlugin, { idp })
  await app.listen({ host: "127.0.0.1", port: 0 })
  origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
})
afterEach(() => {
  Object.assign(idp.switches, { down: false, delayMs: 0, issuer: "first" })
})
afterAll(() => app.close())

const clientOf = (platform: Platform) => {
  const client = buildIdpBClients(origin, idp.teamKey.privatePem, secrets).find((one) => one.platform === platform)
  if (client === undefined) throw new Error(`no client for ${platform}`)
  return client
}
const at = (path: string) => `${origin}/dev/idp-b${path}`
const post = (path: string, body: object = {}) => fetch(at(path), { method: "POST", body: JSON.stringify(body) })
const asked = async (path: string, body: object = {}) => (await post(path, body)).json()

/** The hidden fields of a page's form, and its target. */
function formOf(html: string): { action: string; members: Record<string, string> } {
  const text = (escaped = "") => escaped.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
  const inputs = [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)]
  return {
    action: text(/<form method="post" action="([^"]*)"/.exec(html)?.[1]),
    members: Object.fromEntries(inputs.map(([, name, value]) => [text(name), text(value)])),
  }
}

/** Opens the page, submits its form, and returns what the browser would post to the app. */
async function authorize(change: Record<string, string> = {}, person: Record<string, string> = {}) {
  const query = new URLSearchParams({
    client_id: servicesId,
    redirect_uri: clientOf("WEB").redirectUris[0] ?? "",
    response_type: "code id_token",
    response_mode: "form_post",
    scope: "name email",
    state: `s-"1"`,
    nonce: "n-1",
    ...change,
  })
  const page = await fetch(at(`/auth/authorize?${query}`))
  const { members } = formOf(await page.text())
  const answered = await fetch(at("/auth/authorize"), {
    method: "POST",
    body: new URLSearchParams({
      ...members,
      "person.email": "grace@example.com",
      "person.name": "Grace Hopper",
      ...person,
    }),
  })
  return { status: answered.status, ...formOf(await answered.text()) }
}

describe("the stand-in's page", () => {
  test("returns users by a form post, with name and email the first time only", async () => {
    const first = await authorize()
    expect(first.action).toBe(clientOf("WEB").redirectUris[0])
    expect(first.members.state).toBe(`s-"1"`)
    expect(JSON.parse(first.members.user ?? "")).toEqual({
      name: { firstName: "Grace", lastName: "Hopper" },
      email: "grace@example.com",
    })
    const second = await authorize()
    expect(second.members).not.toHaveProperty("user")
    expect(second.members).toHaveProperty("code")

    const credential = { is: "idToken", idToken: second.members.id_token ?? "" } as const
    const vouched = await idpB.verify(clientOf("WEB"), credential, "n-1")
    expect(vouched).toMatchObject({ email: "grace@example.com", emailVerified: true, isRelayEmail: false, name: null })
    const code = { is: "code", code: second.members.code ?? "", codeVerifier: "", redirectUri: second.action } as const
    const traded = await idpB.verify(clientOf("WEB"), code, "n-1")
    expect(traded).toMatchObject({ subject: vouched.subject, singleUse: null })

    // After a revoked consent the user is asked again.
    await idpB.revoke(clientOf("WEB"), traded.providerRefreshToken ?? "")
    expect((await authorize()).members).toHaveProperty("user")
  })

  test("returns a relay address for users who hide theirs", async () => {
    const { members } = await authorize({}, { "person.email": "shy@example.com", "person.hidesEmail": "on" })
    expect(decodeJwt(members.id_token ?? "")).toMatchObject({
      email: expect.stringMatching(/^[0-9a-f]{10}@privaterelay\.idp-b\.invalid$/),
      email_verified: "true",
      is_private_email: "true",
    })
    expect(members.user).not.toContain("shy@example.com")
  })

  test("allows the user to cancel", async () => {
    const { members } = await authorize({}, { "person.cancel": "1" })
    expect(members).toEqual({ state: `s-"1"`, error: "user_cancelled_authorize" })
  })

  test("returns no identity token and no name that was not requested", async () => {
    const { members } = await authorize({ response_type: "code", scope: "" }, { "person.email": "plain@example.com" })
    expect(Object.keys(members).toSorted()).toEqual(["code", "state"])
  })

  test.each<[string, Record<string, string>]>([
    ["of an unknown client", { client_id: "com.example.other" }],
    ["of an app that signs in on the device", { client_id: bundleId }],
    ["to another address", { redirect_uri: "https://evil.example/" }],
    ["that wants the answer in the address", { response_mode: "query" }],
    ["for a token alone", { response_type: "id_token" }],
  ])("refuses a request %s", async (_, change) => {
    expect((await authorize(change)).status).toBe(400)
  })

  test("escapes the request in its HTML", async () => {
    const query = new URLSearchParams({
      client_id: servicesId,
      redirect_uri: clientOf("WEB").redirectUris[0] ?? "",
      response_type: "code",
      response_mode: "form_post",
      state: `"><script>alert(1)</script>`,
    })
    const page = await fetch(at(`/auth/authorize?${query}`))
    expect(await page.text()).not.toContain("<script>")
    expect(page.headers.get("content-security-policy")).toContain("script-src 'none'")
  })
})

describe("one request without a browser", () => {
  test.each<[Platform]>([["WEB"], ["ANDROID"], ["IOS"]])(
    "returns a token for %s that the server accepts, with booleans as strings",
    async (platform) => {
      const { id_token: idToken, nonce } = await asked("/id-token", { platform, email: "ada@example.com" })
      expect(decodeJwt(idToken)).toMatchObject({ iss: idpBIssuers[0], email_verified: "true" })
      const vouched = await idpB.verify(clientOf(platform), { is: "idToken", idToken }, nonce)
      expect(vouched).toMatchObject({ providerTenant: teamId, email: "ada@example.com", emailVerified: true })
      expect(vouched.subject).toMatch(/^\d{6}\.[0-9a-f]{32}\.\d{4}$/)
    },
  )

  test("returns a complete sign-in body, with hints the first time only", async () => {
    const person = { platform: "IOS", email: "hint@example.com", name: "Hint Once" }
    const first = await asked("/login-request", person)
    expect(first).toMatchObject({
      appId: developmentAppId,
      platform: "IOS",
      profileHints: { name: "Hint Once", email: "hint@example.com" },
    })
    const second = await asked("/login-request", person)
    expect(second).not.toHaveProperty("profileHints")
    expect(await idpB.verify(clientOf("IOS"), { is: "idToken", idToken: second.idToken }, second.nonce)).toBeDefined()
  })

  test.each<[Platform]>([["WEB"], ["IOS"]])("returns a code for %s instead", async (platform) => {
    const { authorizationCode, nonce } = await asked("/login-request", { platform, credential: "code" })
    const { code, redirectUri = "" } = authorizationCode
    const credential = { is: "code", code, codeVerifier: "", redirectUri } as const
    const vouched = await idpB.verify(clientOf(platform), credential, nonce)
    expect(vouched.providerRefreshToken).toMatch(/^r/)
  })

  test.each(notificationTypes)("returns the body of a notification: %s", async (type) => {
    const { payload } = await asked("/notification", { type, platform: "IOS", hidesEmail: true })
    const { subject } = await idpB.read([clientOf("IOS")], payload)
    const { id_token } = await asked("/id-token", { platform: "IOS" })
    expect(subject).toBe(decodeJwt(id_token).sub)
    expect(typeof decodeJwt(payload).events).toBe("string")
  })

  test.each<[string, unknown]>([
    ["/id-token", { email: "nobody" }],
    ["/id-token", { platform: "DESKTOP" }],
    ["/id-token", { admin: true }],
    ["/id-token", { hidesEmail: "true" }],
    ["/id-token", []],
    ["/login-request", { credential: "password" }],
    ["/notification", { type: "account-created" }],
    ["/switches", { up: true }],
    ["/switches", { delayMs: -1 }],
    ["/switches", { issuer: "third" }],
    ["/elsewhere", {}],
  ])("is refused if it is malformed: %s %j", async (path, body) => {
    expect((await post(path, Object(body))).status).toBe(400)
  })
})

describe("the stand-in can be switched", () => {
  test("to sign with the second issuer", async () => {
    await post("/switches", { issuer: "second" })
    const { id_token: idToken, nonce } = await asked("/id-token")
    expect(decodeJwt(idToken).iss).toBe(idpBIssuers[1])
    const vouched = await idpB.verify(clientOf("WEB"), { is: "idToken", idToken }, nonce)
    expect(vouched.issuer).toBe(idpBIssuers[0])
  })

  test("to fail, while its switches still answer", async () => {
    await post("/switches", { down: true })
    const answer = await fetch(at("/auth/keys"))
    expect([answer.status, answer.headers.get("content-type")]).toEqual([503, "text/html"])
    expect((await asked("/switches", { down: false })).down).toBe(false)
    expect((await fetch(at("/auth/keys"))).status).toBe(200)
  })

  test("to answer with a delay", async () => {
    await post("/switches", { delayMs: 30 })
    const started = performance.now()
    await fetch(at("/auth/keys"))
    expect(performance.now() - started).toBeGreaterThan(25)
  })
})

test("the stand-in publishes public keys, and metadata under its second issuer", async () => {
  const metadata = await (await fetch(at("/.well-known/openid-configuration"))).json()
  expect(metadata).toMatchObject({ issuer: idpBIssuers[1], jwks_uri: at("/auth/keys") })
  const { keys } = await (await fetch(metadata.jwks_uri)).json()
  expect(keys.map((key: { alg: string }) => key.alg)).toEqual(["RS256", "ES256"])
  for (const key of keys) expect(key).not.toHaveProperty("d")
  expect((await fetch(at("/auth/nothing"))).status).toBe(404)
})

test("a refresh returns an identity token without a nonce, and no new refresh token", async () => {
  const { authorizationCode, nonce } = await asked("/login-request", { credential: "code" })
  const credential = { is: "code", codeVerifier: "", ...authorizationCode } as const
  let form = new URLSearchParams()
  const watched = createIdpB({
    isLoopbackAllowed: true,
    clock,
    secrets,
    fetch(url, init) {
      if (init.body instanceof URLSearchParams) form = init.body
      return fetch(url, init)
    },
  })
  const { providerRefreshToken } = await watched.verify(clientOf("WEB"), credential, nonce)
  const { client_id = "", client_secret = "" } = Object.fromEntries(form)
  const ask = (refresh_token: string) =>
    fetch(at("/auth/token"), {
      method: "POST",
      body: new URLSearchParams({ client_id, client_secret, grant_type: "refresh_token", refresh_token }),
    })
  const answer = await (await ask(providerRefreshToken ?? "")).json()
  expect(answer).not.toHaveProperty("refresh_token")
  expect(decodeJwt(answer.id_token)).not.toHaveProperty("nonce")
  expect(await (await ask("made-up")).json()).toEqual({ error: "invalid_grant" })
})

test.each(["production", "", "Development"])("the profile %j has no stand-in for IDP_B", (profile) => {
  expect(() => createDevelopmentIdpB({ profile, origin: () => "", clock })).toThrow("development profile only")
})
