// Malformed and ambiguous requests to the token endpoint.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { assertion, basic } from "../support/machines.ts"
import { storyStore } from "../support/postgres.ts"
import { refused, startTokenWorld, type TokenWorld } from "../support/token-world.ts"

let world: TokenWorld
beforeAll(async () => {
  world = await startTokenWorld({ store: storyStore })
})
afterAll(() => world?.server.close())

const credentials = { grant_type: "client_credentials", audience: "svc-notes" }

describe("parameter pollution", () => {
  const client = () => basic(world.gateway)
  test.each([
    "grant_type=client_credentials&audience=svc-notes&audience=svc-mail",
    "grant_type=client_credentials&grant_type=pat&audience=svc-notes",
    "grant_type=client_credentials&audience=svc-notes&scope=notes.read&scope=notes.write",
    "grant_type=client_credentials&audience=svc-notes&x=1&x=1",
    "grant_type=client_credentials&audience=svc-notes&%61udience=svc-mail",
    "grant_type=client_credentials&audience=svc-notes&audience=",
  ])("%s: a parameter that comes twice is refused, known or not", async (form) => {
    expect(refused(await world.token(form, client()))).toBe("400 invalid_request DUPLICATE_FIELD")
  })

  test("an unknown parameter is ignored", async () => {
    expect((await world.token({ ...credentials, resource: "https://x", "audience[]": "y" }, client())).status).toBe(200)
  })

  test("no parameter is read from the URL, and none of it is echoed", async () => {
    const secret = world.gateway.secret
    const url = `${world.server.url}/auth/token?client_secret=${secret}`
    const response = await fetch(url, {
      method: "POST",
      body: new URLSearchParams({ ...credentials, client_id: world.gateway.account.clientId }),
    })
    const text = await response.text()
    expect([response.status, JSON.parse(text).error]).toEqual([400, "invalid_request"])
    expect(text).not.toContain("client_secret")
    expect((await fetch(url)).status).toBe(404)
  })

  test("a client may use only one authentication method", async () => {
    const { account, secret } = world.gateway
    const post = { client_id: account.clientId, client_secret: secret }
    const both: [Record<string, string>, Record<string, string>][] = [
      [{ ...credentials, ...post }, client()],
      [{ ...credentials, ...post, ...assertion(world.gateway) }, {}],
      [{ ...credentials, ...assertion(world.gateway) }, client()],
      [{ ...credentials, ...post }, { authorization: "Bearer x" }],
    ]
    for (const [form, headers] of both) {
      expect(refused(await world.token(form, headers))).toBe("400 invalid_request AMBIGUOUS_CREDENTIAL")
    }
  })
})

describe("content types", () => {
  const form = new URLSearchParams({ grant_type: "client_credentials", audience: "svc-notes" }).toString()
  const post = async (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) => {
    const response = await fetch(`${world.server.url}/auth/token`, {
      method: "POST",
      body,
      headers: { ...basic(world.gateway), ...headers },
    })
    return `${response.status} ${(await response.json()).reason ?? "granted"}`
  }
  test.each<[string, string, string]>([
    ["application/x-www-form-urlencoded", form, "200 granted"],
    ["application/x-www-form-urlencoded; charset=UTF-8", form, "200 granted"],
    ["application/x-www-form-urlencoded; charset=utf-16", form, "400 UNSUPPORTED_MEDIA_TYPE"],
    // A malformed media type, so no route matches.
    ["application/x-www-form-urlencoded, application/json", form, "415 UNSUPPORTED_MEDIA_TYPE"],
    [
      "application/json",
      JSON.stringify({ grant_type: "client_credentials", audience: "svc-notes" }),
      "400 UNSUPPORTED_MEDIA_TYPE",
    ],
    ["text/plain", form, "400 UNSUPPORTED_MEDIA_TYPE"],
    ["multipart/form-data; boundary=x", form, "400 UNSUPPORTED_MEDIA_TYPE"],
  ])("%s", async (type, body, expected) => {
    expect(await post(body, { "content-type": type })).toBe(expected)
  })

  test("a compressed, large or non-UTF-8 body is refused", async () => {
    const type = { "content-type": "application/x-www-form-urlencoded" }
    expect(await post(form, { ...type, "content-encoding": "identity" })).toBe("200 granted")
    expect(await post(form, { ...type, "content-encoding": "gzip" })).toBe("400 UNSUPPORTED_MEDIA_TYPE")
    expect(await post(Uint8Array.of(0x61, 0x3d, 0xff), type)).toBe("400 MALFORMED_REQUEST")
    expect(await post("a=%ff", type)).toBe("400 MALFORMED_REQUEST")
    expect(await post("a=%0", type)).toBe("400 MALFORMED_REQUEST")
    expect(await post(`a=${"x".repeat(70_000)}`, type)).toBe("400 BODY_TOO_LARGE")
    expect(await post(`${form}&scope=%00`, type)).toBe("400 INVALID_FIELD")
  })

  test("a form is refused by every other method", async () => {
    const response = await fetch(`${world.server.url}/auth/session/refresh`, {
      method: "POST",
      body: new URLSearchParams({ refreshToken: "x" }),
    })
    expect(response.status).toBe(415)
  })
})
