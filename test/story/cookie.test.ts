import { create, toJsonString } from "@bufbuild/protobuf"
import { newId } from "@signet/kernel/ids"
import { ExternalLoginRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const origin = "https://notes.example"
const fromPage = { origin, "x-signet-client": "web", "sec-fetch-site": "same-site" }

describe("cookie mode", () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ store: storyStore })
  })
  afterAll(() => server?.close())

  const post = (path: string, headers: Record<string, string>, body: string) =>
    fetch(server.url + path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body })

  async function loginBody(subject: string): Promise<string> {
    const request = create(ExternalLoginRequestSchema, { ...(await server.login(subject)), cookieMode: true })
    return toJsonString(ExternalLoginRequestSchema, request)
  }

  async function signIn(subject: string): Promise<{ cookie: string; token: string }> {
    const response = await post("/auth/login/idp-a", fromPage, await loginBody(subject))
    expect(response.status).toBe(200)
    const [cookie = ""] = response.headers.getSetCookie()
    return { cookie: cookie.split(";")[0] ?? "", token: cookie.split(/[=;]/)[1] ?? "" }
  }
  const appBody = () => JSON.stringify({ appId: server.app.id })
  const reasonOf = async (response: Response) => [
    response.status,
    ((await response.json()) as { reason: string }).reason,
  ]

  test("the cookie is host-bound, HttpOnly and SameSite=Strict, and the body has no refresh token", async () => {
    const response = await post("/auth/login/idp-a", fromPage, await loginBody("cookie"))
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        new RegExp(
          `^__Host-sgrt-${server.app.id}=sgrt_[0-9A-Za-z]{50}; Path=/; Max-Age=1209[56][0-9]{2}; Secure; HttpOnly; SameSite=Strict$`,
        ),
      ),
    ])
    expect(response.headers.get("cache-control")).toBe("no-store")
    expect(await response.json()).not.toHaveProperty("refreshToken")
  })

  test("a page of the app refreshes and signs out", async () => {
    const { cookie } = await signIn("page")
    const refreshed = await post("/auth/session/refresh", { ...fromPage, cookie }, appBody())
    expect(refreshed.status).toBe(200)
    const next = refreshed.headers.getSetCookie()[0]?.split(";")[0] ?? ""
    expect(next).not.toBe(cookie)
    const loggedOut = await post("/auth/session/logout", { ...fromPage, cookie: next }, appBody())
    expect(loggedOut.status).toBe(204)
    expect(loggedOut.headers.getSetCookie()[0]).toMatch(/^__Host-sgrt-[^=]+=; Path=\/; Max-Age=0;/)
    const after = await post("/auth/session/refresh", { ...fromPage, cookie: next }, appBody())
    expect(await reasonOf(after)).toEqual([401, "REFRESH_TOKEN_INVALID"])
  })

  test.each<[string, Record<string, string>]>([
    ["another origin", { ...fromPage, origin: "https://evil.example" }],
    ["an origin that begins like the app's", { ...fromPage, origin: `${origin}.evil.example` }],
    ["no origin", { "x-signet-client": "web", "sec-fetch-site": "same-site" }],
    ["a null origin", { ...fromPage, origin: "null" }],
    ["a form, which cannot send a custom header", { origin, "sec-fetch-site": "same-site" }],
    ["a cross-site fetch", { ...fromPage, "sec-fetch-site": "cross-site" }],
    ["a link", { ...fromPage, "sec-fetch-site": "none" }],
  ])("a cookie from %s changes nothing", async (_, headers) => {
    const { cookie } = await signIn(`csrf ${Math.random()}`)
    for (const path of ["/auth/session/refresh", "/auth/session/logout"]) {
      const response = await post(path, { ...headers, cookie }, appBody())
      expect(await reasonOf(response)).toEqual([403, "ORIGIN_NOT_ALLOWED"])
      expect(response.headers.getSetCookie()).toEqual([])
    }
    const alive = await post("/auth/session/refresh", { ...fromPage, cookie }, appBody())
    expect(alive.status).toBe(200)
  })

  test("only the app's pages can sign in with a cookie, which prevents login CSRF", async () => {
    const response = await post(
      "/auth/login/idp-a",
      { ...fromPage, origin: "https://evil.example" },
      await loginBody("login csrf"),
    )
    expect(await reasonOf(response)).toEqual([403, "ORIGIN_NOT_ALLOWED"])
    expect(response.headers.getSetCookie()).toEqual([])
  })

  test("a cookie and a body token together are refused", async () => {
    const { cookie, token } = await signIn("both")
    const body = JSON.stringify({ appId: server.app.id, refreshToken: token })
    const response = await post("/auth/session/refresh", { ...fromPage, cookie }, body)
    expect(await reasonOf(response)).toEqual([400, "AMBIGUOUS_CREDENTIAL"])
  })

  test("a cookie's token is refused in a body, where no origin is checked", async () => {
    const { token } = await signIn("body")
    const response = await post("/auth/session/refresh", fromPage, JSON.stringify({ refreshToken: token }))
    expect(await reasonOf(response)).toEqual([401, "REFRESH_TOKEN_INVALID"])
  })

  test("a body's token is refused in a cookie, and a cookie's token in another app's cookie", async () => {
    const body = toJsonString(
      ExternalLoginRequestSchema,
      create(ExternalLoginRequestSchema, await server.login("no cookie")),
    )
    const response = await post("/auth/login/idp-a", fromPage, body)
    const { refreshToken } = (await response.json()) as { refreshToken: string }
    const asCookie = { ...fromPage, cookie: `__Host-sgrt-${server.app.id}=${refreshToken}` }
    expect(await reasonOf(await post("/auth/session/refresh", asCookie, appBody()))).toEqual([
      401,
      "REFRESH_TOKEN_INVALID",
    ])
    const alive = await post("/auth/session/refresh", {}, JSON.stringify({ refreshToken }))
    expect(alive.status).toBe(200)

    const { token } = await signIn("cookie of another app")
    const appId = newId("app", 2, new Uint8Array(10))
    const elsewhere = { ...fromPage, cookie: `__Host-sgrt-${appId}=${token}` }
    const refused = await post("/auth/session/refresh", elsewhere, JSON.stringify({ appId }))
    expect(await reasonOf(refused)).toEqual([401, "REFRESH_TOKEN_INVALID"])
  })

  test("a reused cookie token ends its session, in a body too", async () => {
    const { cookie, token } = await signIn("stolen cookie")
    const refreshed = await post("/auth/session/refresh", { ...fromPage, cookie }, appBody())
    const next = refreshed.headers.getSetCookie()[0]?.split(";")[0] ?? ""
    const thief = await post("/auth/session/refresh", {}, JSON.stringify({ refreshToken: token }))
    expect(await reasonOf(thief)).toEqual([401, "REFRESH_TOKEN_REUSED"])
    const victim = await post("/auth/session/refresh", { ...fromPage, cookie: next }, appBody())
    expect(await reasonOf(victim)).toEqual([401, "REFRESH_TOKEN_INVALID"])
  })

  test("a form body is refused, whatever it contains", async () => {
    const { cookie } = await signIn("form")
    const form = { ...fromPage, cookie, "content-type": "application/x-www-form-urlencoded" }
    const response = await post("/auth/session/logout", form, `appId=${server.app.id}`)
    expect(await reasonOf(response)).toEqual([415, "UNSUPPORTED_MEDIA_TYPE"])
  })

  test("preflights are answered for the app's origins only", async () => {
    const ask = (from: string) =>
      fetch(`${server.url}/auth/session/refresh`, {
        method: "OPTIONS",
        headers: {
          origin: from,
          "access-control-request-method": "POST",
          "access-control-request-headers": "x-signet-client",
        },
      })
    const allowed = await ask(origin)
    expect(allowed.status).toBe(204)
    expect(allowed.headers.get("access-control-allow-origin")).toBe(origin)
    expect(allowed.headers.get("access-control-allow-credentials")).toBe("true")
    expect(allowed.headers.get("vary")).toContain("Origin")
    expect((await ask("https://evil.example")).headers.get("access-control-allow-origin")).toBeNull()
  })
})
