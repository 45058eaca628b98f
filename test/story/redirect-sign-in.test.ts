// Signing in at a provider's page, without a browser: the created, stored, checked and refused values.
import { newId } from "@signet/kernel/ids"
import type { ProviderClient } from "@signet/kernel/records"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type ClientWorld, startClientWorld } from "../support/client-world.ts"
import { storyStore } from "../support/postgres.ts"

const redirectUri = "https://notes.example/callback"
const authorizationEndpoint = "https://idp.example/authorize?tenant=1"

let world: ClientWorld
beforeAll(async () => {
  world = await startClientWorld({ store: storyStore, client: { authorizationEndpoint, redirectUris: [redirectUri] } })
})
afterAll(() => world?.close())

const reasonOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "none",
    (error: unknown) => String(Object(error).reason ?? error),
  )

/** The provider's answer to the address: the person signs in and returns. */
function answerOf(url: string, change: Record<string, string | null> = {}): string {
  const asked = new URL(url).searchParams
  const code = world.server.idp.issueCode({
    codeChallenge: asked.get("code_challenge") ?? "",
    redirectUri: asked.get("redirect_uri") ?? "",
    token: { claims: { sub: `redirected ${Math.random()}`, nonce: asked.get("nonce") } },
  })
  const back = new URL(asked.get("redirect_uri") ?? "")
  const members = { code, state: asked.get("state"), iss: world.server.idp.issuer, ...change }
  for (const [name, value] of Object.entries(members)) if (value !== null) back.searchParams.set(name, value)
  return back.href
}
const finish = async (signet: ReturnType<ClientWorld["open"]>, address: string) =>
  (await signet.openCallback(address))?.finish()
const put = (change: Partial<ProviderClient>) => {
  const { server } = world
  const id = newId("pcl", server.deps.clock.nowMs(), server.deps.random.bytes(10))
  return server.deps.store.transaction((tx) => tx.apps.putProviderClient({ ...server.client, id, ...change }))
}

describe("a sign-in at a provider's page", () => {
  test("requests with state, nonce and PKCE, and signs in once with the answer", async () => {
    const signet = world.open(world.browser().tab())
    const { url, state } = await signet.beginSignIn({
      redirectUri,
      returnTo: "/notes?id=1#top",
      loginHint: "ada",
      prompt: "consent",
    })
    const asked = Object.fromEntries(new URL(url).searchParams)
    expect(url.startsWith("https://idp.example/authorize?tenant=1&")).toBe(true)
    expect(asked).toMatchObject({
      ...{ response_type: "code", client_id: world.server.client.clientId, redirect_uri: redirectUri, state },
      ...{ scope: "openid email profile", code_challenge_method: "S256", login_hint: "ada", prompt: "consent" },
    })
    expect(asked.state).toMatch(/^[\w-]{32}$/)
    const another = new URL((await signet.beginSignIn({ redirectUri })).url).searchParams
    for (const name of ["state", "nonce", "code_challenge"]) expect(another.get(name), name).not.toBe(asked[name])
    // The service's nonce: a token with it signs in only together with this browser's transaction.
    expect(asked.nonce).toMatch(/^sgn_[\w-]{32}$/)
    const address = answerOf(url)
    const callback = await signet.openCallback(address)
    expect(callback).toMatchObject({ state, returnTo: "/notes?id=1#top", display: "page" })
    expect((await callback?.finish())?.created).toBe(true)
    expect(signet.session.current.is).toBe("signedIn")
    // Repeated, like a reload or a reader of the history does.
    expect(await reasonOf(signet.openCallback(address))).toBe("CALLBACK_INVALID")
  })

  test("is completed by another tab of the browser, by one of two at the same time, and by no other browser", async () => {
    const browser = world.browser()
    const { url } = await world.open(browser.tab()).beginSignIn({ redirectUri })
    const address = answerOf(url)
    const stranger = world.open(world.browser().tab())
    // Login CSRF: an attacker's sign-in would put this person into the attacker's account.
    expect(await reasonOf(finish(stranger, address))).toBe("CALLBACK_INVALID")
    const outcomes = await Promise.all(
      [browser, browser].map((one) => reasonOf(finish(world.open(one.tab()), address))),
    )
    expect(outcomes.toSorted()).toEqual(["CALLBACK_INVALID", "none"])
  })

  test.each<[string, Record<string, string | null>, string]>([
    ["another state", { state: "A".repeat(32) }, "CALLBACK_INVALID"],
    ["no state", { state: null }, "CALLBACK_INVALID"],
    ["another issuer (RFC 9207)", { iss: "https://evil.example" }, "CALLBACK_ISSUER_MISMATCH"],
    ["an issuer with the same prefix", { iss: "http://127.0.0.1" }, "CALLBACK_ISSUER_MISMATCH"],
    ["an error", { code: null, error: "access_denied" }, "PROVIDER_REFUSED"],
    ["an error beside a code", { error: "access_denied" }, "PROVIDER_REFUSED"],
    ["another issuer's error", { code: null, error: "x", iss: "https://evil.example" }, "CALLBACK_ISSUER_MISMATCH"],
    ["an unknown code", { code: "made-up" }, "PROVIDER_TOKEN_INVALID"],
  ])("refuses an answer with %s, and the real one signs nobody in afterwards", async (_, change, reason) => {
    const signet = world.open(world.browser().tab())
    const { url, state } = await signet.beginSignIn({ redirectUri })
    expect(await reasonOf(finish(signet, answerOf(url, change)))).toBe(reason)
    expect(signet.session.current.is).not.toBe("signedIn")
    // A right state is consumed. An answer without it changes nothing.
    const isUsed = change.state === undefined
    expect(await reasonOf(finish(signet, answerOf(url)))).toBe(isUsed ? "CALLBACK_INVALID" : "none")
    expect(state).not.toBe(change.state)
  })

  test("refuses an ambiguous answer, another address, and a code of another sign-in", async () => {
    const signet = world.open(world.browser().tab())
    const begin = async () => (await signet.beginSignIn({ redirectUri })).url
    const first = await begin()
    for (const name of ["state", "code", "iss", "error"]) {
      const twice = new URL(answerOf(first))
      twice.searchParams.append(name, "x")
      if (name === "error") twice.searchParams.append(name, "y")
      expect(await reasonOf(signet.openCallback(twice.href))).toBe("CALLBACK_INVALID")
    }
    const moved = answerOf(first).replace("/callback", "/elsewhere")
    expect(await reasonOf(finish(signet, moved))).toBe("CALLBACK_INVALID")

    // An injected code of another sign-in, with another challenge and nonce.
    const [mine, theirs] = [await begin(), await begin()]
    const code = new URL(answerOf(theirs)).searchParams.get("code")
    expect(await reasonOf(finish(signet, answerOf(mine, { code })))).toBe("PROVIDER_TOKEN_INVALID")
  })

  test("expires after ten minutes, or when the clock is set back by as much", async () => {
    for (const ms of [600_000, -600_000]) {
      const signet = world.open(world.browser().tab())
      const { url } = await signet.beginSignIn({ redirectUri })
      world.clock.jump(ms)
      expect(await reasonOf(signet.openCallback(answerOf(url)))).toBe("CALLBACK_INVALID")
      world.clock.jump(-ms)
    }
  })

  test("is one of at most eight: the oldest is dropped first", async () => {
    const signet = world.open(world.browser().tab())
    const urls: string[] = []
    for (let i = 0; i < 9; i++) urls.push((await signet.beginSignIn({ redirectUri })).url)
    const [oldest = "", second = ""] = urls
    expect(await reasonOf(signet.openCallback(answerOf(oldest)))).toBe("CALLBACK_INVALID")
    expect(await reasonOf(signet.openCallback(answerOf(second)))).toBe("none")
  })

  test.each([
    ...["//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example", "javascript:alert(1)"],
    ...[
      "",
      "notes",
      "/\t/evil.example",
      "/\n/evil.example",
      "/%zz\u0000",
      "/a//evil.example",
      "/.//evil.example",
      " /",
    ],
  ])("goes on at no other origin: %j", async (returnTo) => {
    const signet = world.open(world.browser().tab())
    expect(await reasonOf(signet.beginSignIn({ redirectUri, returnTo }))).toBe("RETURN_PATH_INVALID")
  })

  test("an address without an answer is not a callback", async () => {
    const signet = world.open(world.browser().tab())
    expect(await signet.openCallback(`${redirectUri}?page=2&state=3`)).toBeUndefined()
  })
})

describe("connections", () => {
  test("are listed, selected by name, and one's answer is refused by the other", async () => {
    const { idp } = world.server
    await put({
      ...{ connection: "strict", displayName: "Strict", nonceMode: "SHA256_HEX", requiresResponseIssuer: true },
      ...{ clientId: "strict", issuers: [idp.issuer], scopes: ["openid"] },
    })
    const signet = world.open(world.browser().tab())
    const options = await signet.signInOptions()
    expect(options.map(({ connection, canRedirect }) => [connection, canRedirect])).toEqual([
      ["", true],
      ["strict", true],
    ])
    const { url } = await signet.beginSignIn({ redirectUri, connection: "strict" })
    const asked = new URL(url).searchParams
    expect([asked.get("client_id"), asked.get("scope")]).toEqual(["strict", "openid"])
    expect(asked.get("nonce")).toMatch(/^[0-9a-f]{64}$/)
    // The issuer names itself in each answer: an answer without a name is of another issuer.
    expect(await reasonOf(finish(signet, answerOf(url, { iss: null })))).toBe("CALLBACK_ISSUER_MISMATCH")
    expect(await reasonOf(signet.beginSignIn({ redirectUri, connection: "okta" }))).toBe("CONNECTION_UNKNOWN")
    expect(await reasonOf(signet.beginSignIn({ redirectUri, connection: "Strict" }))).toBe("CONNECTION_UNKNOWN")
  })
})
