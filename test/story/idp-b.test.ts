// Signing in with IDP_B, on each platform and with each flow of the provider.
import { newId } from "@signet/kernel/ids"
import type { App, ProviderClient } from "@signet/kernel/records"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { idpBSubjectOf } from "../../server/development/idp-b-person.ts"
import { isLong } from "../support/effort.ts"
import { type FakeIdpB, type MintBOptions, startFakeIdpB } from "../support/idp-b.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const platforms = ["WEB", "ANDROID", "IOS"] as const

interface Answer {
  accessToken: string
  created?: boolean
  reason?: string
  identity?: { id: string; primaryEmail?: string }
  membership?: { appId: string }
}

describeStory("IDP_B", (kind) => {
  let server: TestServer
  let idp: FakeIdpB
  let uses = 0

  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    idp = await startFakeIdpB({ clock: server.deps.clock, secrets: server.secrets })
    await putClients(platforms.map((platform) => idp.clientOf(platform, { appId: server.app.id })))
  })
  afterEach(() => {
    Object.assign(idp.switches, { down: false, delayMs: 0, issuer: "first" })
  })
  afterAll(() => Promise.all([server?.close(), idp?.stop()]))

  const putClients = (clients: readonly ProviderClient[]) =>
    server.store.store.transaction(async (tx) => {
      for (const client of clients) await tx.apps.putProviderClient(client)
    })

  async function post(body: object): Promise<Answer> {
    const response = await fetch(`${server.url}/auth/login/idp-b`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ appId: server.app.id, platform: "WEB", nonce: "n-1", ...body }),
    })
    return await response.json()
  }
  const signIn = async (subject: string, options: MintBOptions = {}, body: object = {}) => {
    const claims = { sub: subject, jti: `use-${++uses}`, ...options.claims }
    return post({ platform: options.platform ?? "WEB", idToken: await idp.mint({ ...options, claims }), ...body })
  }
  const me = async ({ accessToken }: Answer) => {
    const headers = { authorization: `Bearer ${accessToken}` }
    return await (await fetch(`${server.url}/auth/session/me`, { headers })).json()
  }

  test.runIf(isLong)(
    "a person is one identity on every platform, by token and by code, from either issuer",
    async () => {
      const person = { email: "platforms@example.com", name: "Ada Lovelace", hidesEmail: false }
      const subject = idpBSubjectOf(person)
      const answers: Answer[] = []
      for (const platform of platforms) {
        for (const issuer of ["first", "second"] as const) {
          idp.switches.issuer = issuer
          answers.push(await signIn(subject, { platform }))
          const redirectUri = idp.clientOf(platform).redirectUris[0]
          const code = idp.issueCode({ platform, person })
          answers.push(await post({ platform, authorizationCode: { code, ...(redirectUri && { redirectUri }) } }))
        }
      }
      expect(answers.map((answer) => answer.created ?? false)).toEqual(answers.map((_, index) => index === 0))
      expect(new Set(answers.map((answer) => answer.identity?.id)).size).toBe(1)
      const [account, ...others] = (await me(answers[0] ?? { accessToken: "" })).providerAccounts
      expect(others).toEqual([])
      expect(account).toMatchObject({ provider: "IDP_B", subject })
    },
  )

  test.each([
    ["true", "words@example.com"],
    [true, "boolean@example.com"],
    ["false", undefined],
    ["TRUE", undefined],
    [1, undefined],
  ])("an email whose email_verified is %j makes the contact address %s", async (email_verified, expected) => {
    const email = expected ?? `unverified-${typeof email_verified}@example.com`
    const { identity } = await signIn(`verified ${typeof email_verified} ${email_verified}`, {
      claims: { email, email_verified },
    })
    expect(identity?.primaryEmail).toBe(expected)
  })

  describe("the account's key", () => {
    let random = 0
    async function anotherApp(change: Partial<ProviderClient>): Promise<App> {
      const bytes = () => Uint8Array.from({ length: 10 }, (_, i) => i + 40 + random++)
      const app: App = { ...server.app, id: newId("app", 2, bytes()), name: "Another" }
      await server.store.store.transaction((tx) => tx.apps.putApp(app))
      await putClients([idp.clientOf("IOS", { id: newId("pcl", 2, bytes()), appId: app.id, ...change })])
      return app
    }
    const other = { clientId: "com.example.draw", audiences: ["com.example.draw"], clientSecretSealed: null }
    const enter = (app: App, subject: string) =>
      signIn(subject, { platform: "IOS", claims: { aud: "com.example.draw" } }, { appId: app.id })

    test("is equal in two apps of one team: one identity with two memberships", async () => {
      const app = await anotherApp(other)
      const first = await signIn("two apps", { platform: "IOS" })
      const second = await enter(app, "two apps")
      expect(second.identity?.id).toBe(first.identity?.id)
      expect([first.membership?.appId, second.membership?.appId]).toEqual([server.app.id, app.id])
      expect(await signIn("two apps", { platform: "IOS" }, { appId: app.id })).toMatchObject({
        reason: "PROVIDER_TOKEN_INVALID",
      })
    })

    test("differs between teams: one subject of two teams is two identities", async () => {
      const app = await anotherApp({ ...other, providerTenant: "OTHERTEAM1" })
      const first = await signIn("two teams", { platform: "IOS" })
      const second = await enter(app, "two teams")
      expect(second.created).toBe(true)
      expect(second.identity?.id).not.toBe(first.identity?.id)
    })
  })

  test("a failing provider is unavailable, and ID tokens with cached keys still sign in", async () => {
    await signIn("down", { platform: "IOS" })
    idp.switches.down = true
    expect((await signIn("down", { platform: "IOS" })).identity).toBeDefined()
    expect((await post({ platform: "IOS", authorizationCode: { code: "c" } })).reason).toBe("UPSTREAM_UNAVAILABLE")
  })
})
