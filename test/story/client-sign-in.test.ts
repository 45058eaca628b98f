// Each way of signing in, by the identity client, against the real server and test providers.
import { inspect } from "node:util"
import { connect, createSignet, type Platform, rest, type Signet, type SignetConfig } from "@signet/client"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { faultyStorage } from "../../clients/core/testing/fault.ts"
import { memoryPlatforms, testClock } from "../../clients/core/testing/memory-platform.ts"
import { storyStore } from "../support/postgres.ts"
import { password, redirectUri, type SignInWorld, startSignInWorld } from "../support/sign-in-world.ts"

let world: SignInWorld
const opened: Signet[] = []
beforeAll(async () => {
  world = await startSignInWorld({ store: storyStore, settings: { allowedRedirectUris: [redirectUri] } })
  await world.idpC.addPerson({ email: "ada@example.com", password, isConfirmed: true })
})
afterEach(() => {
  for (const signet of opened.splice(0)) signet.close()
})
afterAll(() => world?.close())

const browser = () => memoryPlatforms({ clock: testClock(), wire: connect })

function open(platform: Platform = browser().tab(), change: Partial<SignetConfig> = {}): Signet {
  const signet = createSignet(
    {
      appId: world.app.id,
      authBaseUrl: world.server.url,
      providers: ["IDP_A", "IDP_B", "EMAIL_PASSWORD", "MAGIC_LINK"],
      redirectUri,
      ...change,
    },
    platform,
  )
  opened.push(signet)
  return signet
}
const reasonOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "none",
    (error: unknown) => String(Object(error).reason ?? error),
  )
let uses = 0
const idTokenFor = (subject: string) =>
  world.server.idp.mint({ claims: { sub: subject, aud: "notes-web", azp: "notes-web", jti: `client-${++uses}` } })
const hints = async () => {
  const rows = await world.server.store.db.selectFrom("membership").select("profile").execute()
  return rows.map(({ profile }) => Object(profile).name).filter((name) => name === "Grace Hopper")
}

describe("a person signs in", () => {
  test("with an address and a password; a wrong password is reported and signs nobody in", async () => {
    const signet = open()
    expect(await reasonOf(signet.loginWithPassword({ email: "ada@example.com", password: "wrong" }))).toBe(
      "INVALID_CREDENTIALS",
    )
    expect(signet.session.current).toEqual({ is: "loggedOut", reason: "NOT_SIGNED_IN" })
    const { user, created } = await signet.loginWithPassword({ email: "ada@example.com", password })
    expect([user.primaryEmail, created]).toEqual(["ada@example.com", true])
    expect((await signet.loginWithPassword({ email: "ada@example.com", password })).created).toBe(false)
  })

  test.each([
    ["anywhere", false],
    ["on the requesting device", true],
  ])("with a link that opens %s", async (_, requireSameDevice) => {
    const email = "ada@example.com"
    const asking = browser()
    const ask = async () => {
      await open(asking.tab(), { requireSameDevice }).sendMagicLink(email)
      await world.server.deps.background.settled()
      return world.linkOf(email)
    }
    let tokenHash = await ask()
    if (requireSameDevice) {
      const elsewhere = open(undefined, { requireSameDevice })
      expect(await reasonOf(elsewhere.confirmMagicLink(tokenHash))).toBe("MAGIC_LINK_INVALID")
      world.server.advance(61_000)
      tokenHash = await ask()
    }
    // Another tab of the same browser: the page of the link.
    const page = open(asking.tab(), { requireSameDevice })
    expect((await page.confirmMagicLink(tokenHash)).user.primaryEmail).toBe(email)
    world.server.advance(61_000)
  })

  test("and the device presents its device token again, also after a sign-out", async () => {
    const own = browser()
    const sent: string[] = []
    const watched: Platform = {
      ...own.tab(),
      fetch: async (input, init) => {
        if (String(input).endsWith("/auth/login/email")) sent.push(await new Response(init?.body).text())
        return fetch(input, init)
      },
    }
    const tokenOf = (body: string | undefined) => JSON.parse(body ?? "{}").deviceToken
    const signet = open({ ...watched, wire: rest })
    await signet.loginWithPassword({ email: "ada@example.com", password })
    await signet.session.logout()
    await signet.loginWithPassword({ email: "ada@example.com", password })
    expect([tokenOf(sent[0]), tokenOf(sent[1])]).toEqual([undefined, expect.stringMatching(/^sgdt_/)])
    // Encrypted like the sign-in.
    const kept = [...own.storage.all.values()].map(({ bytes }) => new TextDecoder().decode(bytes))
    expect(kept.join()).not.toContain("sgdt_")
  })

  test("with a code, whose verifier and nonce the client created", async () => {
    const signet = open()
    const nonce = signet.newNonce()
    const { codeVerifier, codeChallenge } = await signet.newPkce()
    expect([nonce.length, codeVerifier.length, codeChallenge.length]).toEqual([32, 43, 43])
    expect(signet.newNonce()).not.toBe(nonce)
    expect((await signet.newPkce()).codeVerifier).not.toBe(codeVerifier)
    const client = await world.clientOf(world.app.id, "IDP_A", "WEB")
    const uri = client.redirectUris[0] ?? ""
    const code = world.server.idp.issueCode({
      codeVerifier,
      redirectUri: uri,
      token: { claims: { sub: "with a code", nonce, jti: `client-${++uses}` } },
    })
    const credential = { code, codeVerifier, redirectUri: uri }
    expect(await reasonOf(signet.login({ provider: "IDP_A", nonce, credential }))).toBe("none")
  })

  test("over REST as well", async () => {
    const signet = open({ ...browser().tab(), wire: rest })
    await signet.loginWithPassword({ email: "ada@example.com", password })
    expect(await signet.session.logoutAll({ exceptCurrent: true })).toBeGreaterThan(0)
    expect(await signet.session.logout()).toEqual({ endedAtService: true })
  })
})

describe("profile data that a provider sends once", () => {
  test("is stored until a sign-in has sent it, and is optional", async () => {
    const own = browser()
    const first = open(own.tab())
    const told = { name: "Grace Hopper", email: undefined }
    const broken = { provider: "IDP_A", nonce: "n-1", credential: { idToken: "not.a.token" } } as const
    expect(await reasonOf(first.login({ ...broken, profileHints: told }))).toBe("PROVIDER_TOKEN_INVALID")
    first.close()
    const again = open(own.tab())
    await again.login({ ...broken, credential: { idToken: await idTokenFor("grace") } })
    expect(await hints()).toEqual(["Grace Hopper"])
    expect([...own.storage.all.keys()].filter((name) => name.startsWith("profile hints"))).toEqual([])
    await again.login({ ...broken, credential: { idToken: await idTokenFor("nobody told") }, profileHints: {} })
    expect(await hints()).toHaveLength(1)
  })
})

describe("an invalid use", () => {
  test("a way of signing in that is not enabled is refused before anything is sent", async () => {
    const signet = open(undefined, { providers: ["IDP_A"] })
    expect(await reasonOf(signet.loginWithPassword({ email: "ada@example.com", password }))).toBe(
      "PROVIDER_NOT_ENABLED",
    )
    expect(await reasonOf(signet.sendMagicLink("ada@example.com"))).toBe("PROVIDER_NOT_ENABLED")
    expect(await reasonOf(signet.confirmMagicLink("a".repeat(64)))).toBe("PROVIDER_NOT_ENABLED")
    expect(await reasonOf(signet.startSignIn({ provider: "IDP_B" }))).toBe("PROVIDER_NOT_ENABLED")
    const credential = { idToken: await idTokenFor("of a provider that is not enabled") }
    expect(await reasonOf(signet.login({ provider: "IDP_B", nonce: "n-1", credential }))).toBe("PROVIDER_NOT_ENABLED")
  })

  test.each<[string, Partial<SignetConfig>]>([
    ["an address in the clear", { authBaseUrl: "http://auth.example" }],
    ["an address with a slash", { authBaseUrl: "https://auth.example/" }],
    ["an address with a user", { authBaseUrl: "https://a:b@auth.example" }],
    ["no address", { authBaseUrl: "auth" }],
    ["no app", { appId: "app_1" }],
    ["no provider", { providers: [] }],
    ["too many audiences", { audiences: ["a", "b", "c", "d", "e", "f", "g", "h"] }],
  ])("%s is no configuration", (_, change) => {
    expect(() => open(undefined, change)).toThrow(expect.objectContaining({ reason: "CONFIGURATION_INVALID" }))
  })

  test("the auth service's token is sent to no other service", async () => {
    const { session } = open()
    expect(() => session.transport({ baseUrl: "https://notes.example" })).toThrow(/audience/)
    expect(() => session.transport({ baseUrl: "https://notes.example", audience: "auth" })).toThrow(/audience/)
    expect(() => session.transport({ baseUrl: "http://notes.example", audience: "svc-notes" })).toThrow(/https/)
  })

  test("a sign-in that cannot be stored fails, and its session ends at the service", async () => {
    const own = browser()
    const storage = faultyStorage(own.storage)
    const signet = open(own.tab({ storage }))
    await signet.session.ready
    storage.arm(2, "fails before")
    const credential = { idToken: await idTokenFor("cannot be kept") }
    expect(await reasonOf(signet.login({ provider: "IDP_A", nonce: "n-1", credential }))).toBe("STORE_FAILED")
    expect(signet.session.current).toEqual({ is: "loggedOut", reason: "NOT_SIGNED_IN" })
    const newest = await world.server.store.db
      .selectFrom("session")
      .select(["status"])
      .orderBy("id", "desc")
      .executeTakeFirst()
    expect(newest?.status).toBe("REVOKED")
  })
})

test("no printed, copied or thrown value contains a token", async () => {
  const signet = open()
  await signet.loginWithPassword({ email: "ada@example.com", password })
  const token = await signet.session.accessToken()
  const transport = signet.session.transport()
  const errors = [
    await signet.confirmMagicLink("a".repeat(64)).catch((error: unknown) => error),
    await signet.session.accessToken("svc-other").catch((error: unknown) => error),
    await signet.loginWithPassword({ email: "ada@example.com", password: "wrong" }).catch((error: unknown) => error),
  ]
  const deep = { depth: 20, showHidden: true, getters: true, maxStringLength: null, maxArrayLength: null } as const
  for (const value of [signet, signet.session, transport, signet.session.current, ...errors]) {
    const texts = [inspect(value, deep), JSON.stringify(value) ?? "", String(value)]
    for (const text of texts) {
      expect(text).not.toContain(token.split(".")[2])
      expect(text).not.toMatch(/sgrt_|sgdt_|eyJ[\w-]+\.eyJ/)
      expect(text).not.toContain(password)
    }
  }
})
