import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startTransports, type TransportServer } from "./testing/transport-server.ts"

const appId = "app_00000000000000000000000000"
const login = { appId, platform: "WEB", idToken: "a.b.c" }
let server: TransportServer
beforeAll(async () => {
  server = await startTransports()
})
afterAll(() => server.app.close())

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(server.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  })

describe("a path", () => {
  test("names the provider by its enum name in lower case with hyphens", async () => {
    const answer = await post("/auth/login/idp-a", login)
    expect(answer.status).toBe(200)
    expect(answer.headers.get("content-type")).toBe("application/json")
    expect(answer.headers.get("cache-control")).toBe("no-store")
    expect(await answer.json()).toMatchObject({ expiresIn: 1, session: { appId } })
  })

  test("may repeat a field of the body", async () => {
    expect((await post("/auth/login/idp-a", { ...login, provider: "IDP_A" })).status).toBe(200)
  })

  test("with another value than the body is refused", async () => {
    const answer = await post("/auth/login/idp-a", { ...login, provider: "IDP_B" })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ reason: "FIELD_CONFLICT", metadata: { field: "provider" } })
  })

  test("is not found for a provider that no route names", async () => {
    const answer = await post("/auth/login/idp-z", login)
    expect(answer.status).toBe(404)
    expect(answer.headers.get("content-type")).toBe("application/problem+json")
    expect(await answer.json()).toMatchObject({ reason: "METHOD_UNKNOWN", status: 404 })
  })
})

describe("an answer", () => {
  test("of an empty message has no body", async () => {
    const answer = await post("/auth/session/logout", {})
    expect(answer.status).toBe(204)
    expect(await answer.text()).toBe("")
  })

  test("needs no request body if every field is optional", async () => {
    const answer = await fetch(`${server.url}/auth/session/logout-all`, { method: "POST" })
    expect(await answer.json()).toEqual({ revokedSessions: 2 })
  })

  test("has separate Set-Cookie headers", async () => {
    const answer = await fetch(`${server.url}/auth/session/me`)
    expect(answer.headers.getSetCookie()).toEqual(["a=1; Path=/", "b=2; Path=/"])
  })

  test("of the key set is cacheable and can be revalidated", async () => {
    const url = `${server.url}/.well-known/jwks.json`
    const first = await fetch(url)
    expect(first.headers.get("content-type")).toBe("application/jwk-set+json")
    expect(first.headers.get("cache-control")).toBe("public, max-age=300, stale-while-revalidate=600")
    expect(await first.json()).toEqual({ keys: [{ kty: "EC", kid: "k1" }] })
    const tag = first.headers.get("etag") ?? ""
    const again = await fetch(url, { headers: { "if-none-match": `"other", W/${tag}` } })
    expect([again.status, again.headers.get("etag"), await again.text()]).toEqual([304, tag, ""])
    expect((await fetch(url, { headers: { "if-none-match": `"other"` } })).status).toBe(200)
    expect((await fetch(url, { headers: { "if-none-match": "*" } })).status).toBe(304)
  })
})

describe("a query", () => {
  test("fills fields by either of their names", async () => {
    const answer = await fetch(`${server.url}/auth/session/sessions?pageSize=9&page_token=a%20b`)
    expect(await answer.json()).toMatchObject({ nextPageToken: "9", sessions: [{ id: "a b" }] })
  })

  test.each([
    ["page_size=1&page_size=1", "DUPLICATE_FIELD", "page_size"],
    ["page_size=1&pageSize=2", "DUPLICATE_FIELD", "page_size"],
    ["nope=1", "UNKNOWN_FIELD", "nope"],
    ["__proto__=1", "UNKNOWN_FIELD", "__proto__"],
    ["pageSize=many", "INVALID_FIELD", "page_size"],
    ["pageSize=201", "INVALID_FIELD", "page_size"],
    ["pageSize.x=1", "UNKNOWN_FIELD", "pageSize.x"],
  ])("%s is refused with %s", async (query, reason, field) => {
    const answer = await fetch(`${server.url}/auth/session/sessions?${query}`)
    expect([answer.status, await answer.json()]).toMatchObject([400, { reason, metadata: { field } }])
  })

  test("is refused if the body contains the message", async () => {
    const answer = await post("/auth/session/refresh?refreshToken=x", {})
    expect(await answer.json()).toMatchObject({ reason: "UNKNOWN_FIELD" })
  })
})

describe("a field that may come as a header", () => {
  const key = "A".repeat(22)
  test("is set by the header", async () => {
    const answer = await post("/auth/session/refresh", { refreshToken: "r" }, { "idempotency-key": key })
    expect(await answer.json()).toMatchObject({ refreshToken: "r", accessToken: key })
  })
  test("may be repeated with the same value", async () => {
    expect((await post("/auth/session/refresh", { retryKey: key }, { "idempotency-key": key })).status).toBe(200)
  })
  test("may not be repeated with another value", async () => {
    const answer = await post("/auth/session/refresh", { retryKey: key }, { "idempotency-key": "B".repeat(22) })
    expect(await answer.json()).toMatchObject({ reason: "FIELD_CONFLICT", metadata: { field: "retry_key" } })
  })
  test("is validated", async () => {
    const answer = await post("/auth/session/refresh", {}, { "idempotency-key": "short" })
    expect(await answer.json()).toMatchObject({ reason: "INVALID_FIELD", metadata: { field: "retry_key" } })
  })
})

describe("a problem", () => {
  test("has the members of RFC 9457 and those of ErrorInfo", async () => {
    const answer = await post("/auth/login/idp-a", { ...login, appId: "x", audiences: ["a", "a"] })
    expect(await answer.json()).toEqual({
      type: "urn:signet:reason:INVALID_FIELD",
      title: "a field has an invalid value",
      status: 400,
      detail: "a field has an invalid value",
      instance: expect.stringMatching(/^urn:request:[0-9a-f-]{36}$/),
      reason: "INVALID_FIELD",
      domain: "signet",
      metadata: { field: "app_id" },
      errors: [
        { field: "app_id", detail: expect.any(String) },
        { field: "audiences", detail: expect.any(String) },
      ],
    })
  })

  test("of a fault reveals nothing about it", async () => {
    const answer = await post("/auth/session/logout", { refreshToken: "fault" })
    expect(answer.status).toBe(500)
    const text = await answer.text()
    expect(text).toContain(`"reason":"INTERNAL"`)
    expect(text).not.toContain("secret")
    expect(server.faults.at(-1)).toBeInstanceOf(TypeError)
  })

  test("of too many calls has Retry-After", async () => {
    const answer = await post("/auth/session/logout", { refreshToken: "rate" })
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "7"])
  })

  test.each([
    ["NO_CREDENTIAL", 401, `Bearer realm="signet"`],
    [
      "TOKEN_EXPIRED",
      401,
      `Bearer realm="signet", error="invalid_token", error_description="the access token has expired"`,
    ],
    ["MISSING_SCOPE", 403, `Bearer realm="signet", error="insufficient_scope", scope="notes.read"`],
    ["STEP_UP_REQUIRED", 403, `Bearer realm="signet", error="insufficient_user_authentication", max_age="60"`],
    ["APP_MISMATCH", 403, null],
  ])("of %s has the status %i and its challenge", async (reason, status, challenge) => {
    const answer = await fetch(`${server.url}/auth/session/me`, { headers: { "x-refuse": reason } })
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([status, challenge])
  })

  test("is sent before the body is read if the gate refuses", async () => {
    const answer = await post("/auth/session/logout", "{not json", { "x-refuse": "NO_CREDENTIAL" })
    expect(await answer.json()).toMatchObject({ reason: "NO_CREDENTIAL" })
  })
})
