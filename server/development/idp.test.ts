import { createHash, randomBytes } from "node:crypto"
import { connect } from "node:http2"
import type { AddressInfo } from "node:net"
import { parseId } from "@signet/kernel/ids"
import type { FastifyInstance } from "fastify"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { createSecrets } from "../keys/secrets.ts"
import { createHttp } from "../node/http.ts"
import { createIdpA } from "../providers/idp-a.ts"
import { buildDevelopmentApp, buildProviderClients } from "./app.ts"
import { developmentAppId } from "./app-id.ts"
import { createDevelopmentIdp, type DevelopmentIdp } from "./idp.ts"
import { developmentPlugin } from "./plugin.ts"

const clock = { nowMs: () => Date.now() }
const secrets = createSecrets({
  peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }],
  sealingKey: new Uint8Array(32).fill(2),
})
const warnings = vi.spyOn(console, "warn")
let app: FastifyInstance
let origin = ""
let idp: DevelopmentIdp

beforeAll(async () => {
  app = createHttp({
    onFault: (fault) => {
      throw fault
    },
  })
  idp = createDevelopmentIdp({ profile: "development", origin: () => origin, clock })
  app.register(developmentPlugin, { idp })
  await app.listen({ host: "127.0.0.1", port: 0 })
  origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
})
afterAll(() => app.close())

const clientOf = (platform: string) => {
  const client = buildProviderClients(origin, idp.webSecret, secrets).find((one) => one.platform === platform)
  if (client === undefined) throw new Error(`no client for ${platform}`)
  return client
}
const post = (path: string, body?: object) =>
  fetch(`${origin}/dev/idp-a${path}`, { method: "POST", body: body === undefined ? "" : JSON.stringify(body) })

/** Keeps cookies and follows redirects like a browser, until one leaves the provider. */
function browser() {
  const cookies = new Map<string, string>()
  return async function visit(url: string, form?: Record<string, string>): Promise<{ url: string; text: string }> {
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(form ? { method: "POST", body: new URLSearchParams(form) } : {}),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    const location = response.headers.get("location")
    if (location === null) return { url, text: await response.text() }
    const next = new URL(location, url)
    return next.pathname.startsWith("/dev/idp-a/") ? visit(next.href) : { url: next.href, text: "" }
  }
}

describe("the stand-in provider signs users in", () => {
  test.each(["WEB", "IOS"])(
    "through its page, with a code that only the verifier's holder can exchange: %s",
    async (platform) => {
      const client = clientOf(platform)
      const redirectUri = client.redirectUris[0] ?? ""
      const codeVerifier = randomBytes(32).toString("base64url")
      const query = new URLSearchParams({
        client_id: client.clientId,
        response_type: "code",
        scope: "openid email profile",
        redirect_uri: redirectUri,
        nonce: "n-1",
        code_challenge: createHash("sha256").update(codeVerifier).digest("base64url"),
        code_challenge_method: "S256",
      })
      const visit = browser()
      const page = await visit(`${origin}/dev/idp-a/auth?${query}`)
      expect(page.text).toContain(client.clientId)
      const back = await visit(page.url, { email: "Grace@Example.com", name: "Grace" })
      expect(back.url.startsWith(redirectUri)).toBe(true)
      const code = new URL(back.url).searchParams.get("code") ?? ""

      const idpA = createIdpA({ clock, secrets, isLoopbackAllowed: true })
      const credential = { is: "code", code, codeVerifier, redirectUri } as const
      const vouched = await idpA.verify(client, credential, "n-1")
      expect(vouched).toMatchObject({ email: "grace@example.com", emailVerified: true, name: "Grace", singleUse: null })
      expect(vouched.issuer).toBe("https://idp-a.invalid")
      await expect(idpA.verify(client, credential, "n-1")).rejects.toMatchObject({ reason: "PROVIDER_TOKEN_INVALID" })
    },
  )

  test("and refuses a code request without a challenge", async () => {
    const client = clientOf("WEB")
    const query = new URLSearchParams({
      client_id: client.clientId,
      response_type: "code",
      scope: "openid",
      redirect_uri: client.redirectUris[0] ?? "",
    })
    const back = await browser()(`${origin}/dev/idp-a/auth?${query}`)
    expect(new URL(back.url).searchParams.get("error")).toBe("invalid_request")
  })

  test("and shows no page outside a sign-in", async () => {
    expect((await fetch(`${origin}/dev/idp-a/sign-in/made-up`)).status).toBe(400)
  })
})

describe("one request without a browser", () => {
  test("returns an ID token that the server accepts, with the same subject as the page's", async () => {
    const response = await post("/id-token", { email: "ada@example.com", name: "Ada", nonce: "n-1" })
    const { id_token: idToken } = await response.json()
    const vouched = await createIdpA({ clock, secrets, isLoopbackAllowed: true }).verify(
      clientOf("WEB"),
      { is: "idToken", idToken },
      "n-1",
    )
    expect(vouched).toMatchObject({ email: "ada@example.com", emailVerified: true, name: "Ada" })
    expect(vouched.subject).toMatch(/^[0-9a-f]{24}$/)
  })

  test("returns a complete sign-in body, a new one each time", async () => {
    const [first, second] = await Promise.all([post("/login-request"), post("/login-request")])
    const body = await first.json()
    expect(body).toMatchObject({ appId: developmentAppId, platform: "WEB" })
    expect((await second.json()).idToken).not.toBe(body.idToken)
    const credential = { is: "idToken", idToken: body.idToken } as const
    const vouched = await createIdpA({ clock, secrets, isLoopbackAllowed: true }).verify(
      clientOf("WEB"),
      credential,
      body.nonce,
    )
    expect(vouched.email).toBe("ada@example.com")
  })

  test("returns a token for the named platform only", async () => {
    const { id_token: idToken } = await (await post("/id-token", { platform: "ANDROID", nonce: "n-1" })).json()
    const idpA = createIdpA({ clock, secrets, isLoopbackAllowed: true })
    expect(await idpA.verify(clientOf("ANDROID"), { is: "idToken", idToken }, "n-1")).toBeDefined()
    await expect(idpA.verify(clientOf("WEB"), { is: "idToken", idToken }, "n-1")).rejects.toMatchObject({
      metadata: { claim: "aud" },
    })
  })

  test.each([[{ email: 7 }], [{ email: "nobody" }], [{ platform: "DESKTOP" }], [{ admin: true }], [[]]])(
    "is refused if invalid: %j",
    async (body) => {
      expect((await post("/id-token", body)).status).toBe(400)
    },
  )
})

test("the provider answers over HTTP/2 too", async () => {
  const client = connect(origin)
  const ask = (headers: Record<string, string>, body: string) =>
    new Promise<string>((resolve, reject) => {
      const stream = client.request(headers, { endStream: body === "" })
      let text = ""
      stream.on("data", (chunk) => {
        text += chunk
      })
      stream.on("end", () => resolve(text)).on("error", reject)
      if (body !== "") stream.end(body)
    })
  try {
    const path = "/dev/idp-a/.well-known/openid-configuration"
    expect(JSON.parse(await ask({ ":path": path }, "")).issuer).toBe(`${origin}/dev/idp-a`)
    const asked = await ask({ ":path": "/dev/idp-a/id-token", ":method": "POST" }, '{"nonce":"n-1"}')
    expect(JSON.parse(asked).nonce).toBe("n-1")
  } finally {
    client.close()
  }
})

test("the provider publishes its metadata below its own path", async () => {
  const metadata = await (await fetch(`${origin}/dev/idp-a/.well-known/openid-configuration`)).json()
  expect(metadata).toMatchObject({
    issuer: `${origin}/dev/idp-a`,
    jwks_uri: `${origin}/dev/idp-a/jwks`,
    token_endpoint: `${origin}/dev/idp-a/token`,
  })
  const { keys } = await (await fetch(metadata.jwks_uri)).json()
  expect(Object.keys(keys[0]).toSorted()).toEqual(["alg", "e", "kid", "kty", "n", "use"])
})

test.each(["production", "", "Development"])("a program of the profile %j refuses the stand-in provider", (profile) => {
  expect(() => createDevelopmentIdp({ profile, origin: () => origin, clock })).toThrow("development profile only")
})

test("the seeded app is the same at every start", () => {
  const { id } = buildDevelopmentApp("http://127.0.0.1:1", "auth")
  expect(parseId("app", id)).toBe(developmentAppId)
  expect(id).toBe("app_01kdvdna00edmtevk5ehj6axhg")
  const ids = buildProviderClients(origin, "s", secrets).map((client) => parseId("pcl", client.id))
  expect(new Set(ids).size).toBe(3)
  expect(ids).not.toContain(undefined)
})

test("the provider logs no warnings", () => {
  expect(warnings).not.toHaveBeenCalled()
})
