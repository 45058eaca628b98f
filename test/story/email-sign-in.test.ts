// Passwords and magic links: people, their mail scanners, and a failing provider.
import { createHash } from "node:crypto"
import { Platform } from "@signet/proto/auth/v1/records"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { limits } from "../../server/providers/bounded-request.ts"
import { clientsOver, protocols, refusal } from "../support/clients.ts"
import type { Misbehaviour } from "../support/idp-c.ts"
import { describeStory } from "../support/postgres.ts"
import { password, redirectUri, type SignInWorld, startSignInWorld } from "../support/sign-in-world.ts"

const verifier = "a verifier of the usual length, which is 43 at least".replaceAll(/[^a-z0-9]/g, "-")
const codeChallenge = createHash("sha256").update(verifier).digest("base64url")

describeStory("IDP_C", (kind) => {
  let world: SignInWorld
  let people = 0
  beforeAll(async () => {
    world = await startSignInWorld({ store: kind })
  })
  afterAll(() => world?.close())

  /** A person whom the project knows, with `password`. */
  async function person(isConfirmed = true): Promise<string> {
    const email = `person-${++people}@example.com`
    await world.idpC.addPerson({ email, password, isConfirmed })
    return email
  }
  function transportOf(protocol: string) {
    const transport = protocols[protocol]
    if (transport === undefined) throw new Error(protocol)
    return transport(world.server.url)
  }
  const reasonOf = async (answer: Promise<{ status: number; reason?: string }>) => {
    const { status, reason } = await answer
    return `${status} ${reason}`
  }
  /** Requests a link for that address. @returns Its token hash. */
  async function link(email: string, body: object = {}): Promise<string> {
    expect((await world.startLink(email, body)).status).toBe(204)
    return world.linkOf(email)
  }

  test("checks the password; its session ends before ours begins, and its token is not accepted here", async () => {
    const email = await person()
    const before = world.idpC.requests.length
    const answer = await world.signInC(email.toUpperCase())
    expect(answer.status).toBe(200)
    expect(await world.idpC.countSessions()).toBe(0)
    const paths = world.idpC.requests.slice(before).map(({ url }) => url.replace(/^.*\/auth\/v1/, ""))
    expect(paths.filter((path) => !path.includes("jwks"))).toEqual([
      "/token?grant_type=password",
      "/logout?scope=local",
    ])
    for (const { headers, body, url } of world.idpC.requests.slice(before)) {
      if (!url.includes("jwks")) expect(headers.apikey).toBe(world.idpC.secretKey)
      expect(`${headers.authorization} ${url} ${body}`).not.toContain(world.idpC.secretKey)
    }
    const theirs = await world.idpC.mint("somebody")
    expect((await world.get("/auth/session/me", theirs)).reason).toBe("PROVIDER_TOKEN_NOT_ACCEPTED")
    expect((await world.get("/auth/session/me", answer.accessToken ?? "")).identity).toMatchObject({
      primaryEmail: email,
    })
  })

  test("refuses an unknown address, an unconfirmed address and a missing address", async () => {
    const email = await person()
    expect(await reasonOf(world.signInC(email, { password: "wrong" }))).toBe("401 INVALID_CREDENTIALS")
    expect(await reasonOf(world.signInC("nobody@example.com"))).toBe("401 INVALID_CREDENTIALS")
    expect(await reasonOf(world.signInC(await person(false)))).toBe("403 EMAIL_NOT_VERIFIED")
    world.idpC.project.people.put({ email: "anonymous-1@example.com", password, isAnonymous: true })
    expect((await world.signInC("anonymous-1@example.com")).status).toBeGreaterThanOrEqual(400)
    expect(await world.idpC.countSessions()).toBe(0)
  })

  test.each(Object.keys(protocols))("is signed in with over %s", async (protocol) => {
    const { auth } = clientsOver(transportOf(protocol))
    const email = await person()
    const common = { appId: world.app.id, platform: Platform.WEB }
    const first = await auth.emailPasswordLogin({ ...common, email, password })
    expect(first).toMatchObject({ created: true, identity: { primaryEmail: email } })
    await auth.startMagicLink({ ...common, email, redirectUri })
    await world.server.deps.background.settled()
    const second = await auth.confirmMagicLink({ ...common, tokenHash: world.linkOf(email) })
    expect(second.identity?.id).toBe(first.identity?.id)
    expect(await refusal(auth.emailPasswordLogin({ ...common, email, password: "wrong" }))).toBe(
      "Unauthenticated INVALID_CREDENTIALS",
    )
  })

  test("is not called for a page that is not the app's", async () => {
    const email = await person()
    const asked = world.idpC.requests.length
    expect(await reasonOf(world.signInC(email, { body: { cookieMode: true } }))).toBe("403 ORIGIN_NOT_ALLOWED")
    expect(world.idpC.requests.length).toBe(asked)
  })

  test("is called only by its own methods", async () => {
    const body = { appId: world.app.id, platform: "WEB", provider: "IDP_C", idToken: await world.idpC.mint("x") }
    const answer = await world.post("/signet.auth.v1.AuthService/ExternalLogin", body)
    expect(answer).toMatchObject({ status: 400, code: "failed_precondition" })
    const { idToken: _, ...start } = { ...body, redirectUri: "https://notes.example/signed-in" }
    const started = await world.post("/signet.auth.v1.AuthService/StartSignIn", start)
    expect(started).toMatchObject({ status: 400, code: "failed_precondition" })
  })

  describe("a magic link", () => {
    test("signs in once, and its session at the provider ends", async () => {
      const email = await person()
      const tokenHash = await link(email)
      const answer = await world.confirmLink(tokenHash)
      expect(answer).toMatchObject({ status: 200, identity: { primaryEmail: email } })
      expect(await world.idpC.countSessions()).toBe(0)
      expect(await reasonOf(world.confirmLink(tokenHash))).toBe("401 MAGIC_LINK_INVALID")
    })

    test("creates an unknown user, where the app allows sign-up", async () => {
      const email = `newcomer-${kind}@example.com`
      expect((await world.confirmLink(await link(email))).created).toBe(true)
      await world.changeApp(world.app, { signupEnabled: false })
      const mails = world.idpC.mails().length
      expect((await world.startLink(`stranger-${kind}@example.com`)).status).toBe(204)
      expect(world.idpC.mails().length).toBe(mails)
      const known = await link(email)
      await world.changeApp(world.app, {})
      const client = await world.clientOf(world.app.id, "IDP_C", "WEB")
      await world.changeClient(client, { signupEnabled: false })
      expect((await world.startLink(`stranger-${kind}@example.com`)).status).toBe(204)
      await world.server.deps.background.settled()
      expect(world.idpC.mails().filter(({ to }) => to === `stranger-${kind}@example.com`)).toEqual([])
      await world.changeClient(client, { signupEnabled: true })
      expect((await world.confirmLink(known)).created ?? false).toBe(false)
    })

    test("is not consumed by a mail scanner, whatever it opens and however often", async () => {
      const email = await person()
      const tokenHash = await link(email)
      const { link: mailed = "" } = world.idpC.mails().findLast(({ to }) => to === email) ?? {}
      expect(mailed).toBe(`${redirectUri}?token_hash=${tokenHash}&type=email`)
      const asked = world.idpC.requests.length
      const query = new URLSearchParams({ appId: world.app.id, platform: "WEB", tokenHash })
      const connect = `connect=v1&encoding=json&message=${encodeURIComponent(JSON.stringify(Object.fromEntries(query)))}`
      const addresses = [
        "/auth/magic-link/confirm",
        `/auth/magic-link/confirm?${query}`,
        `/signet.auth.v1.AuthService/ConfirmMagicLink?${connect}`,
      ]
      for (const method of ["GET", "HEAD", "OPTIONS"]) {
        for (const address of addresses) {
          const response = await fetch(world.server.url + address, { method })
          expect([404, 405], `${method} ${address}`).toContain(response.status)
        }
      }
      expect(world.idpC.requests.length).toBe(asked)
      expect((await world.confirmLink(tokenHash)).status).toBe(200)
    })

    test("signs in one of two that confirm it at the same time", async () => {
      const tokenHash = await link(await person())
      const answers = await Promise.all(Array.from({ length: 4 }, () => world.confirmLink(tokenHash)))
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401])
      const reasons = answers.flatMap(({ reason }) => reason ?? [])
      expect(reasons).toEqual(Array(3).fill("MAGIC_LINK_INVALID"))
      expect(await world.idpC.countSessions()).toBe(0)
    })

    test("that another app requested is refused, though the project is the same", async () => {
      const email = await person()
      const tokenHash = await link(email, { appId: world.otherApp.id })
      expect(await reasonOf(world.confirmLink(tokenHash))).toBe("401 MAGIC_LINK_INVALID")
    })

    test("that was not requested here is refused", async () => {
      const email = await person()
      await world.idpC.ask("/otp", { email, create_user: false })
      expect(await reasonOf(world.confirmLink(world.idpC.mails().at(-1)?.tokenHash ?? ""))).toBe(
        "401 MAGIC_LINK_INVALID",
      )
    })

    test.each([{}, { codeVerifier: verifier }])(
      "uses up its request: a later link that another page requested is refused (%j)",
      async (body) => {
        const email = await person()
        const tokenHash = await link(email, body.codeVerifier === undefined ? {} : { codeChallenge })
        expect((await world.confirmLink(tokenHash, body)).status).toBe(200)
        await world.idpC.ask("/otp", { email, create_user: false })
        expect(await reasonOf(world.confirmLink(world.linkOf(email), body))).toBe("401 MAGIC_LINK_INVALID")
      },
    )

    test("may be confirmed on another platform of the app", async () => {
      const tokenHash = await link(await person())
      expect((await world.confirmLink(tokenHash, { platform: "IOS" })).status).toBe(200)
    })

    test("that was requested with a challenge requires its verifier", async () => {
      const email = await person()
      for (const body of [{}, { codeVerifier: `${verifier}-other` }]) {
        const tokenHash = await link(email, { codeChallenge })
        expect(await reasonOf(world.confirmLink(tokenHash, body))).toBe("401 MAGIC_LINK_INVALID")
      }
      const tokenHash = await link(email, { codeChallenge })
      expect((await world.confirmLink(tokenHash, { codeVerifier: verifier })).status).toBe(200)
    })

    describe("of an app that requires the same device", () => {
      beforeEach(() => world.changeApp(world.app, { requireSameDevice: true }))
      afterEach(() => world.changeApp(world.app, {}))

      test("is not sent without a challenge", async () => {
        expect(await reasonOf(world.startLink(await person()))).toBe("400 INVALID_FIELD")
      })

      test("is not consumed without the verifier", async () => {
        const tokenHash = await link(await person(), { codeChallenge })
        expect(await reasonOf(world.confirmLink(tokenHash))).toBe("401 MAGIC_LINK_INVALID")
        expect((await world.confirmLink(tokenHash, { codeVerifier: verifier })).status).toBe(200)
      })
    })

    test("expires, and so does its request", async () => {
      const tokenHash = await link(await person())
      world.server.advance(86_400_000)
      expect(await reasonOf(world.confirmLink(tokenHash))).toBe("401 MAGIC_LINK_INVALID")
    })
  })

  describe("during a failure", () => {
    const { timeoutMs } = limits
    beforeAll(() => {
      limits.timeoutMs = 150
    })
    afterEach(() => {
      world.idpC.misbehaviour.clear()
      // The failures may have opened the circuit breaker.
      world.server.advance(60_000)
    })
    afterAll(() => {
      limits.timeoutMs = timeoutMs
    })
    const troubles: Misbehaviour[] = ["slow", "redirect", "down", "html", "hangUp"]

    test.each(troubles)("(%s) is unavailable for known and unknown addresses", async (how) => {
      const email = await person()
      for (const path of ["/token", "/otp", "/verify"]) world.idpC.misbehaviour.set(path, how)
      expect(await reasonOf(world.signInC(email))).toBe("503 UPSTREAM_UNAVAILABLE")
      // The answer does not wait for the provider.
      expect((await world.startLink(email)).status).toBe(204)
      expect(await reasonOf(world.confirmLink("0123456789abcdef"))).toBe("503 UPSTREAM_UNAVAILABLE")
    })

    test("is not called while its circuit is open, and is called again afterwards", async () => {
      const email = await person()
      world.idpC.misbehaviour.set("/token", "down")
      for (let i = 0; i < 5; i++) await world.signInC(email)
      const asked = world.idpC.requests.length
      expect(await reasonOf(world.signInC(email))).toBe("503 UPSTREAM_UNAVAILABLE")
      expect(world.idpC.requests.length).toBe(asked)
      world.idpC.misbehaviour.clear()
      world.server.advance(11_000)
      expect((await world.signInC(email)).status).toBe(200)
    })

    test("signs in although its session does not end", async () => {
      const email = await person()
      world.idpC.misbehaviour.set("/logout", "down")
      expect((await world.signInC(email)).status).toBe(200)
      world.idpC.project.sessions.clear()
    })
  })
})
