// Attempts to sign in as another user: by their email address, by a token for another app, or by a link to another
// site.

import type { IdentityId } from "@signet/kernel/ids"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { describeStory } from "../support/postgres.ts"
import { type Answer, password, redirectUri, type SignInWorld, startSignInWorld } from "../support/sign-in-world.ts"

describeStory("somebody else", (kind) => {
  let world: SignInWorld
  beforeAll(async () => {
    world = await startSignInWorld({ store: kind })
  })
  afterAll(() => world?.close())

  const idOf = ({ identity }: Answer) => identity?.id
  const email = "victim@example.com"
  const verified = { email, email_verified: true }

  describe("by their address", () => {
    let victim: Answer
    beforeAll(async () => {
      victim = await world.signInA("victim", { claims: verified })
      expect(victim).toMatchObject({ created: true, identity: { primaryEmail: email } })
    })
    const isNobodys = async (attacker: Answer) => {
      expect(attacker).toMatchObject({ status: 200, created: true })
      expect(idOf(attacker)).not.toBe(idOf(victim))
      const mine = await world.get("/auth/session/me", attacker.accessToken ?? "")
      expect(mine.providerAccounts).toHaveLength(1)
      expect((await world.get("/auth/session/me", victim.accessToken ?? "")).providerAccounts).toHaveLength(1)
    }

    test.each<[string, () => Promise<Answer>]>([
      ["unverified, at the same provider", () => world.signInA("e 1", { claims: { email, email_verified: false } })],
      [
        "verified, at the same provider, with another subject: a domain that was registered again",
        () => world.signInA("e 2", { claims: verified }),
      ],
      ["verified, by the text true", () => world.signInA("e 3", { claims: { email, email_verified: "true" } })],
      ["at another provider", () => world.signInB("e 4", { claims: { email, email_verified: "true" } })],
      ["at another provider, with the same subject", () => world.signInB("victim", { claims: verified })],
      ["in capitals", () => world.signInA("e 5", { claims: { ...verified, email: "VICTIM@EXAMPLE.COM" } })],
      ["with dots and a plus", () => world.signInA("e 6", { claims: { ...verified, email: "v.ictim+x@example.com" } })],
      [
        "with a letter that looks alike",
        () => world.signInA("e 7", { claims: { ...verified, email: "vіctim@example.com" } }),
      ],
      ["in wide letters", () => world.signInA("e 8", { claims: { ...verified, email: "ｖictim@example.com" } })],
      ["in another app", () => world.signInA("e 9", { claims: verified, app: world.otherApp })],
      [
        "said by the client",
        () => world.signInB("e 10", { claims: { email: undefined }, body: { profileHints: { email } } }),
      ],
    ])("%s, creates another user", async (_, attack) => {
      await isNobodys(await attack())
    })

    test("at a provider that identifies users only by address, creates another user", async () => {
      await world.idpC.addPerson({ email, password, isConfirmed: true })
      await isNobodys(await world.signInC(email))
    })

    test("in another case or with a space in the subject creates another user", async () => {
      for (const subject of ["Victim", "victim ", "ｖictim"]) await isNobodys(await world.signInA(subject))
    })

    test("in fullwidth letters does not count as verified", async () => {
      const answer = await world.signInA("wide", { claims: { ...verified, email: "ｗide@example.com" } })
      expect(answer.identity?.primaryEmail).toBeUndefined()
    })

    test("gets no information about the victim while sign-up is disabled", async () => {
      await world.changeApp(world.app, { signupEnabled: false })
      const known = await world.signInA("closed 1", { claims: verified })
      const unknown = await world.signInA("closed 2", { claims: { ...verified, email: "nobody@example.com" } })
      await world.changeApp(world.app, {})
      const told = ({ status, reason, detail, metadata }: Answer) => ({ status, reason, detail, metadata })
      expect(known.reason).toBe("SIGNUP_DISABLED")
      expect(told(known)).toEqual(told(unknown))
    })
  })

  describe("before the owner's first sign-in", () => {
    test("an unverified address that somebody used before does not affect its owner", async () => {
      const mail = "late@example.com"
      const early = await world.signInA("early bird", { claims: { email: mail, email_verified: false } })
      expect(early.identity?.primaryEmail).toBeUndefined()
      const late = await world.signInA("late", { claims: { email: mail, email_verified: true } })
      expect(late).toMatchObject({ created: true, identity: { primaryEmail: mail } })
      expect(idOf(late)).not.toBe(idOf(early))
    })

    test("an unconfirmed address at IDP_C signs nobody in, even with the right password", async () => {
      const mail = `planted-${kind}@example.com`
      await world.idpC.addPerson({ email: mail, password, isConfirmed: false })
      expect(await world.signInC(mail)).toMatchObject({ status: 403, reason: "EMAIL_NOT_VERIFIED" })
    })

    test("a password that an attacker set at IDP_C is invalid once the owner's link creates the account", async () => {
      const mail = `sprouts-${kind}@example.com`
      await world.idpC.addPerson({ email: mail, password, isConfirmed: false })
      expect((await world.startLink(mail)).status).toBe(204)
      const owner = await world.confirmLink(world.linkOf(mail))
      expect(owner).toMatchObject({ created: true, identity: { primaryEmail: mail } })
      expect(await world.signInC(mail)).toMatchObject({ status: 401, reason: "INVALID_CREDENTIALS" })
    })

    test("a password that could not be invalidated is refused until a link has invalidated it", async () => {
      const mail = `stubborn-${kind}@example.com`
      await world.idpC.addPerson({ email: mail, password, isConfirmed: false })
      world.idpC.misbehaviour.set("/user", "fails")
      await world.startLink(mail)
      const owner = await world.confirmLink(world.linkOf(mail))
      expect(owner.created).toBe(true)
      world.idpC.misbehaviour.clear()
      // A constant stream of attempts would hit the moment before the password is invalidated.
      expect(await world.signInC(mail)).toMatchObject({ status: 403, reason: "EMAIL_NOT_VERIFIED" })
      world.server.advance(11_000)
      const asked = world.idpC.requests.length
      expect(await world.signInC(mail)).toMatchObject({ status: 401, reason: "INVALID_CREDENTIALS" })
      expect(world.idpC.requests.slice(asked).at(-1)?.url).toContain("/logout")
      await world.startLink(mail)
      expect(idOf(await world.confirmLink(world.linkOf(mail)))).toBe(idOf(owner))
      const own = "a password of her own"
      world.idpC.project.people.setPassword(mail, own)
      expect(await world.signInC(mail)).toMatchObject({ reason: "INVALID_CREDENTIALS" })
      expect(idOf(await world.signInC(mail, { password: own }))).toBe(idOf(owner))
      world.server.advance(60_000)
      await world.startLink(mail)
      await world.confirmLink(world.linkOf(mail))
      expect((await world.signInC(mail, { password: own })).status).toBe(200)
    })

    test("an address that changed its owner at the provider changes nothing: users are identified by subject", async () => {
      const mail = "moves@example.com"
      const old = await world.signInA("old owner", { claims: { email: mail, email_verified: true } })
      await world.signInA("old owner", { claims: { email: "elsewhere@example.com", email_verified: true } })
      const next = await world.signInA("new owner", { claims: { email: mail, email_verified: true } })
      expect(idOf(next)).not.toBe(idOf(old))
      expect(idOf(await world.signInA("old owner", { claims: { email: mail, email_verified: true } }))).toBe(idOf(old))
    })
  })

  test("takes over no unlinked account, neither by a sign-in nor by its address", async () => {
    const mail = "adopted@example.com"
    const owner = await world.signInA("adopted", { claims: { email: mail, email_verified: true } })
    const { db } = world.server.store
    await db
      .updateTable("provider_account")
      .set({ status: "UNLINKED" })
      .where("identity_id", "=", idOf(owner) as IdentityId)
      .execute()
    const again = await world.signInA("adopted", { claims: { email: mail, email_verified: true } })
    expect(again).toMatchObject({ status: 403, reason: "SIGNUP_DISABLED" })
    const other = await world.signInB("adopter", { claims: { email: mail, email_verified: "true" } })
    expect(idOf(other)).not.toBe(idOf(owner))
  })

  describe("by a credential of another app", () => {
    test("an ID token for another app's client is refused", async () => {
      const { clientId } = await world.clientOf(world.otherApp.id, "IDP_A", "WEB")
      const claims = { aud: clientId, azp: clientId }
      expect((await world.signInA("cross", { claims })).reason).toBe("PROVIDER_TOKEN_INVALID")
    })

    test("an ID token for both apps' clients, or with a wrong azp, is refused", async () => {
      const mine = await world.clientOf(world.app.id, "IDP_A", "WEB")
      const { clientId } = await world.clientOf(world.otherApp.id, "IDP_A", "WEB")
      for (const claims of [
        { aud: [mine.clientId, clientId], azp: mine.clientId },
        { aud: mine.clientId, azp: clientId },
        { aud: [mine.clientId], azp: "" },
      ]) {
        expect((await world.signInA("cross azp", { claims })).reason).toBe("PROVIDER_TOKEN_INVALID")
      }
    })

    test("an ID token that one app has used is refused in the other, although both share the client", async () => {
      const { clientId } = await world.clientOf(world.app.id, "IDP_A", "WEB")
      const there = await world.clientOf(world.otherApp.id, "IDP_A", "WEB")
      const shared = { audiences: [there.clientId, clientId], authorizedParties: [there.clientId, clientId] }
      await world.changeClient(there, shared)
      const idToken = await world.server.idp.mint({ claims: { sub: "shared", aud: clientId, azp: clientId } })
      const body = { platform: "WEB", nonce: "n-1", idToken }
      expect((await world.post("/auth/login/idp-a", { ...body, appId: world.app.id })).status).toBe(200)
      const replayed = await world.post("/auth/login/idp-a", { ...body, appId: world.otherApp.id })
      await world.changeClient(there, {})
      expect(replayed.reason).toBe("PROVIDER_TOKEN_REPLAYED")
    })

    test.each(["idp-a", "idp-b"])("a token of one provider is refused as the other's (%s)", async (path) => {
      const idToken = path === "idp-a" ? await world.idpB.mint() : await world.server.idp.mint()
      const body = { appId: world.app.id, platform: "WEB", nonce: "n-1", idToken }
      expect((await world.post(`/auth/login/${path}`, body)).reason).toBe("PROVIDER_TOKEN_INVALID")
    })

    test("a code is accepted only for the client that it was issued to", async () => {
      const codeVerifier = "v".repeat(43)
      const callback = "https://notes.example/callback"
      const code = world.server.idp.issueCode({ codeVerifier, redirectUri: callback })
      const authorizationCode = { code, codeVerifier, redirectUri: callback }
      const body = { appId: world.otherApp.id, platform: "WEB", nonce: "n-1", authorizationCode }
      const answer = await world.post("/auth/login/idp-a", body)
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.accessToken).toBeUndefined()
    })

    test("a disabled client signs nobody in, with any provider", async () => {
      await world.idpC.addPerson({ email: "off@example.com", password, isConfirmed: true })
      const off = async (provider: "IDP_A" | "IDP_B" | "IDP_C", call: () => Promise<Answer>) => {
        const client = await world.clientOf(world.app.id, provider, "WEB")
        await world.changeClient(client, { status: "DISABLED" })
        const { status, reason } = await call()
        await world.changeClient(client, {})
        return `${status} ${reason}`
      }
      const asked = world.idpC.requests.length
      expect([
        await off("IDP_A", () => world.signInA("off")),
        await off("IDP_B", () => world.signInB("off")),
        await off("IDP_C", () => world.signInC("off@example.com")),
        await off("IDP_C", () => world.startLink("off@example.com")),
        await off("IDP_C", () => world.confirmLink("0123456789abcdef")),
      ]).toEqual(Array(5).fill("403 PROVIDER_DISABLED"))
      expect(world.idpC.requests.length).toBe(asked)
    })

    test.skipIf(kind === "pglite")("a client that is disabled during a sign-in creates no session", async () => {
      const mail = "too-late@example.com"
      await world.idpC.addPerson({ email: mail, password, isConfirmed: true })
      const client = await world.clientOf(world.app.id, "IDP_C", "WEB")
      const asked = world.idpC.requests.length
      const { answer } = await world.server.store.store.transaction(async (tx) => {
        await tx.administration.lockProviderClient(client.id)
        const answer = world.signInC(mail)
        // The provider has answered by then, but the session does not exist yet.
        await vi.waitUntil(() => world.idpC.requests.slice(asked).some(({ url }) => url.includes("/logout")), 30_000)
        await tx.apps.putProviderClient({ ...client, status: "DISABLED" })
        return { answer }
      })
      const { reason } = await answer
      await world.changeClient(client, {})
      expect(reason).toBe("PROVIDER_DISABLED")
    })
  })

  describe("by a link to another site", () => {
    const { host, origin } = new URL(redirectUri)
    test.each([
      ["another host", "https://evil.example/signed-in"],
      ["capitals in the host", redirectUri.replace(host, host.toUpperCase())],
      ["capitals in the path", redirectUri.replace("signed-in", "Signed-In")],
      ["capitals in the scheme", redirectUri.replace("https", "HTTPS")],
      ["a name before the host", redirectUri.replace(host, `evil.example@${host}`)],
      ["the host as a name", redirectUri.replace(host, `${host}@evil.example`)],
      ["a dot after the host", redirectUri.replace(host, `${host}.`)],
      ["a longer host", redirectUri.replace(host, `${host}.evil.example`)],
      ["the usual port", redirectUri.replace(host, `${host}:443`)],
      ["another port", redirectUri.replace(host, `${host}:8443`)],
      ["http", redirectUri.replace("https", "http")],
      ["no scheme", redirectUri.replace("https:", "")],
      ["backslashes", redirectUri.replaceAll("/", "\\")],
      ["a slash more", `${redirectUri}/`],
      ["a slash less", origin],
      ["a way up", `${redirectUri}/../signed-in`],
      ["a way up that is hidden", `${origin}/x/%2e%2e/signed-in`],
      ["a letter that is hidden", redirectUri.replace("signed", "%73igned")],
      ["another path below", `${redirectUri}/next`],
      ["a question", `${redirectUri}?next=https://evil.example`],
      ["a fragment", `${redirectUri}#evil`],
      ["a space before", ` ${redirectUri}`],
      ["a line after", `${redirectUri}\n`],
      ["a tab inside", redirectUri.replace("://", ":\t//")],
      ["a letter that looks alike", redirectUri.replace("o", "о")],
      ["a script", "javascript:alert(1)//https://notes.example/signed-in"],
      ["data", "data:text/html,x"],
      ["two addresses", `${redirectUri} ${redirectUri}`],
    ])("a redirect to %s is refused", async (_, elsewhere) => {
      const asked = world.idpC.requests.length
      expect(await world.startLink(email, { redirectUri: elsewhere })).toMatchObject({
        status: 400,
        reason: "REDIRECT_NOT_ALLOWED",
      })
      expect(world.idpC.requests.length).toBe(asked)
    })

    test("a redirect URI of another app is refused", async () => {
      await world.changeApp(world.otherApp, { allowedRedirectUris: ["https://draw.example/in"] })
      expect((await world.startLink(email, { redirectUri: "https://draw.example/in" })).reason).toBe(
        "REDIRECT_NOT_ALLOWED",
      )
      await world.changeApp(world.otherApp, {})
    })
  })

  describe("by finding out which addresses have an account", () => {
    const people = {
      known: `known-${kind}@example.com`,
      unknown: `unknown-${kind}@example.com`,
      unconfirmed: `unconfirmed-${kind}@example.com`,
    }
    beforeAll(async () => {
      await world.idpC.addPerson({ email: people.known, password, isConfirmed: true })
      await world.idpC.addPerson({ email: people.unconfirmed, password, isConfirmed: false })
      expect((await world.signInC(people.known)).created).toBe(true)
    })

    /** The parts of an answer that a caller can compare: everything that does not differ between any two calls. */
    function told({ status, headers, ...rest }: Answer) {
      const names = ["content-type", "content-length", "cache-control", "retry-after", "ratelimit-policy", "set-cookie"]
      const { instance: _, ...body } = { instance: "", ...rest }
      return { status, body, headers: names.map((name) => headers.get(name)) }
    }
    async function compare(call: (address: string) => Promise<Answer>) {
      const answers = []
      for (const address of Object.values(people)) {
        await world.audited()
        const asked = world.idpC.requests.length
        const answer = told(await call(address))
        const paths = world.idpC.requests.slice(asked).map(({ url }) => url.replace(/^.*\/auth\/v1/, ""))
        answers.push({ answer, audited: await world.audited(), paths })
      }
      return answers
    }

    test("a wrong password gets the same answer and the same audit event", async () => {
      const [known, ...others] = await compare((address) => world.signInC(address, { password: "wrong" }))
      expect(known?.answer).toMatchObject({ status: 401, body: { reason: "INVALID_CREDENTIALS" } })
      expect(known?.audited).toEqual([{ kind: "login.failed", reason: "INVALID_CREDENTIALS" }])
      for (const other of others) expect(other).toEqual(known)
    })

    test("a request for a link gets the same answer, with sign-up enabled or disabled", async () => {
      for (const signupEnabled of [true, false]) {
        await world.changeApp(world.app, { signupEnabled })
        const [known, ...others] = await compare((address) => world.startLink(address))
        expect(known).toMatchObject({ answer: { status: 204, body: {} }, audited: [] })
        for (const other of others) expect(other).toEqual(known)
      }
      await world.changeApp(world.app, {})
    })

    test("no audit event or link request contains an address", async () => {
      const tables = ["audit_event", "magic_link_request"] as const
      for (const table of tables) {
        const rows = await world.server.store.db.selectFrom(table).selectAll().execute()
        expect(rows.length).toBeGreaterThan(0)
        expect(JSON.stringify(rows)).not.toMatch(/@example|victim|known-/)
      }
    })
  })
})
