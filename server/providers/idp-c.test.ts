import { inspect } from "node:util"
import type { EmailProvider } from "@signet/kernel/identity/provider-ports"
import { clientSecretLabel } from "@signet/kernel/keys/sealed-columns"
import type { ProviderClient } from "@signet/kernel/records"
import { providerClient } from "@signet/kernel/testing/records"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { clientOfProject, reasonOf, secrets } from "../../test/support/email-project-suite.ts"
import { type FakeIdpC, type Misbehaviour, startFakeIdpC } from "../../test/support/idp-c.ts"
import { limits } from "./bounded-request.ts"
import { createIdpC, issuerOf } from "./idp-c.ts"

let nowMs = 1_800_000_000_000
const clock = { nowMs: () => nowMs }
const ada = { email: "ada@example.com", password: "correct-horse-1" }
const { timeoutMs } = limits
const reports: string[] = []

let idp: FakeIdpC
let withSecret: FakeIdpC
let client: ProviderClient
let adaId = ""

beforeAll(async () => {
  idp = await startFakeIdpC({ clock, secrets })
  withSecret = await startFakeIdpC({ clock, secrets, signing: "HS256" })
  client = clientOfProject(idp)
  for (const one of [idp, withSecret]) adaId = (await one.addPerson({ ...ada, isConfirmed: true })).id
})
afterEach(() => {
  limits.timeoutMs = timeoutMs
  reports.length = 0
  idp.requests.length = 0
  idp.misbehaviour.clear()
  idp.instead.clear()
  Object.assign(idp.project.settings, {
    spelling: "codes",
    isSignupDisabled: false,
    mailsLeft: Infinity,
    requestsLeft: Infinity,
  })
})
afterAll(() => Promise.all([idp.stop(), withSecret.stop()]))

/** A provider of its own, so that no test opens another's circuit. */
const newIdpC = (): EmailProvider =>
  createIdpC({ clock, secrets, isLoopbackAllowed: true, report: (fault) => reports.push(fault.message) })
const signIn = (change: Partial<ProviderClient> = {}, credential = ada) =>
  reasonOf(newIdpC().signIn({ ...client, ...change }, credential))
const redirectUri = "https://notes.example/signed-in"

/** The project answers a password with this token and this person. */
function answerWith(accessToken: string, user: Record<string, unknown> = {}): void {
  const usual = { id: adaId, email: ada.email, email_confirmed_at: "2026-01-01T00:00:00Z", is_anonymous: false }
  idp.instead.set("/token", { status: 200, body: { access_token: accessToken, user: { ...usual, ...user } } })
}

describe("a project that misbehaves", () => {
  test.each<[Misbehaviour]>([
    ["redirect"],
    ["huge"],
    ["endless"],
    ["html"],
    ["garbage"],
    ["down"],
    ["fails"],
    ["hangUp"],
    ["silent"],
    ["slow"],
  ])("(%s) is one that does not answer", async (how) => {
    limits.timeoutMs = how === "slow" || how === "silent" ? 50 : timeoutMs
    for (const path of ["/token", "/otp", "/verify"]) idp.misbehaviour.set(path, how)
    const idpC = newIdpC()
    expect(await reasonOf(idpC.signIn(client, ada))).toBe("UPSTREAM_UNAVAILABLE")
    const link = { email: ada.email, redirectUri, mayCreate: true }
    expect(await reasonOf(idpC.sendMagicLink(client, link))).toBe("UPSTREAM_UNAVAILABLE")
    expect(await reasonOf(idpC.confirmMagicLink(client, "a-hash-of-some-link"))).toBe("UPSTREAM_UNAVAILABLE")
    expect(idp.requests.map(({ url }) => url)).not.toContain("/elsewhere")
  })

  test.each<[Misbehaviour]>([["down"], ["fails"], ["hangUp"], ["redirect"], ["silent"]])(
    "only at the end of a session (%s) does not prevent the sign-in, and is reported",
    async (how) => {
      limits.timeoutMs = how === "silent" ? 100 : timeoutMs
      idp.misbehaviour.set("/logout", how)
      expect(await signIn()).toBe("ok")
      expect(reports).toEqual([expect.stringContaining("could not be revoked")])
      expect(reports.join()).not.toMatch(/ey|@|sb_secret/)
    },
  )

  test("is left alone for ten seconds once it has not answered five times", async () => {
    const idpC = newIdpC()
    idp.misbehaviour.set("/token", "down")
    for (let i = 0; i < 5; i++) expect(await reasonOf(idpC.signIn(client, ada))).toBe("UPSTREAM_UNAVAILABLE")
    idp.misbehaviour.clear()
    idp.requests.length = 0
    expect(await reasonOf(idpC.signIn(client, ada))).toBe("UPSTREAM_UNAVAILABLE")
    expect(idp.requests).toEqual([])
    expect(await reasonOf(idpC.signIn(clientOfProject(withSecret), ada))).toBe("ok")
    nowMs += 10_000
    expect(await reasonOf(idpC.signIn(client, ada))).toBe("ok")
    expect(await reasonOf(idpC.signIn(client, ada))).toBe("ok")
  })

  test("is asked on while it refuses: nobody shuts others out with wrong passwords or strange text", async () => {
    const idpC = newIdpC()
    const tries = ["wrong", "a\0b", "\ud800"].flatMap((password) => Array.from({ length: 6 }, () => password))
    for (const password of tries) {
      expect(await reasonOf(idpC.signIn(client, { ...ada, password }))).toBe("INVALID_CREDENTIALS")
      expect(await reasonOf(idpC.signIn(client, { ...ada, email: `${password}@example.com` }))).toBe(
        "INVALID_CREDENTIALS",
      )
      expect(await reasonOf(idpC.confirmMagicLink(client, `${password}-hash`))).toBe("MAGIC_LINK_INVALID")
    }
    idp.misbehaviour.set("/token", "fails")
    for (let i = 0; i < 6; i++) expect(await reasonOf(idpC.signIn(client, ada))).toBe("UPSTREAM_UNAVAILABLE")
    idp.misbehaviour.clear()
    idp.project.settings.requestsLeft = 0
    for (let i = 0; i < 6; i++) expect(await reasonOf(idpC.signIn(client, ada))).toBe("RATE_LIMITED 60")
    idp.project.settings.requestsLeft = Infinity
    expect(await reasonOf(idpC.signIn(client, ada))).toBe("ok")
  })
})

describe("a project whose errors have no codes", () => {
  test("gets the same reasons from sentences", async () => {
    idp.project.settings.spelling = "sentences"
    await idp.addPerson({ email: "una@example.com", password: ada.password, isConfirmed: false })
    idp.project.people.put({ email: "banned@example.com", password: ada.password, isConfirmed: true, isBanned: true })
    expect(await signIn()).toBe("ok")
    expect(await signIn({}, { ...ada, password: "wrong" })).toBe("INVALID_CREDENTIALS")
    expect(await signIn({}, { ...ada, email: "banned@example.com" })).toBe("INVALID_CREDENTIALS")
    expect(await signIn({}, { ...ada, email: "una@example.com" })).toBe("EMAIL_NOT_VERIFIED")
    expect(await reasonOf(newIdpC().confirmMagicLink(client, "a-hash-of-no-link"))).toBe("MAGIC_LINK_INVALID")
    const nobody = { email: "nobody@example.com", redirectUri, mayCreate: false }
    expect(await reasonOf(newIdpC().sendMagicLink(client, nobody))).toBe("ok")
    idp.project.settings.mailsLeft = 0
    const somebody = { email: ada.email, redirectUri, mayCreate: true }
    expect(await reasonOf(newIdpC().sendMagicLink(client, somebody))).toBe("RATE_LIMITED 42")
  })
})

describe("asking for a link", () => {
  const send = (email: string, mayCreate: boolean) =>
    reasonOf(newIdpC().sendMagicLink(client, { email, redirectUri, mayCreate }))

  test("asks with the page in the query, as the API takes it", async () => {
    await send(ada.email, false)
    const [request] = idp.requests
    expect(request?.url).toBe(`/dev/idp-c/auth/v1/otp?redirect_to=${encodeURIComponent(redirectUri)}`)
    expect(JSON.parse(request?.body ?? "")).toEqual({ email: ada.email, create_user: false })
  })

  test("gets the same answer for known, unknown, banned and malformed addresses", async () => {
    idp.project.people.put({ email: "banned@example.com", isConfirmed: true, isBanned: true })
    for (const email of [ada.email, "nobody@example.com", "banned@example.com", "no address", "a\0b@example.com"]) {
      expect(await send(email, false)).toBe("ok")
    }
    idp.project.settings.isSignupDisabled = true
    expect(await send("another@example.com", true)).toBe("ok")
  })

  test("gets the same answer at the project's mail limit, which only known addresses reach", async () => {
    idp.project.settings.mailsLeft = 0
    expect([await send(ada.email, false), await send("nobody@example.com", false)]).toEqual(["ok", "ok"])
    expect(reports).toEqual(["IDP_C sent no magic link: over_email_send_rate_limit"])
    expect([await send(ada.email, true), await send("nobody@example.com", true)]).toEqual([
      "RATE_LIMITED 42",
      "RATE_LIMITED 42",
    ])
  })
})

describe("a link's hash", () => {
  test.each(["", "short", "with space in it", "a/../../admin", "ü".repeat(20), "x".repeat(257)])(
    "that is malformed causes no request: %j",
    async (tokenHash) => {
      expect(await reasonOf(newIdpC().confirmMagicLink(client, tokenHash))).toBe("MAGIC_LINK_INVALID")
      expect(idp.requests).toEqual([])
    },
  )
})

describe("a thrown or reported error", () => {
  test("contains no address, password, key or token at any depth", async () => {
    const seen: unknown[] = []
    const idpC = () => createIdpC({ clock, secrets, isLoopbackAllowed: true, report: (fault) => seen.push(fault) })
    const password = "a-password-of-ada"
    const attempt = async () => {
      await idpC()
        .signIn(client, { email: ada.email, password })
        .catch((error) => seen.push(error))
      await idpC()
        .confirmMagicLink(client, "a-hash-of-some-link")
        .catch((error) => seen.push(error))
      const link = { email: ada.email, redirectUri, mayCreate: true }
      await idpC()
        .sendMagicLink(client, link)
        .catch((error) => seen.push(error))
    }
    await attempt()
    for (const how of ["down", "fails", "hangUp", "redirect", "huge", "html"] as const) {
      for (const path of ["/token", "/verify", "/otp"]) idp.misbehaviour.set(path, how)
      await attempt()
    }
    idp.misbehaviour.clear()
    const said = `${ada.email} ${password} eyJhbGciOiJub25lIn0`
    for (const [status, code] of [
      [400, said],
      [429, said],
      [418, "teapot"],
      [400, "email_not_confirmed"],
    ] as const) {
      const body = { code, message: said, error: said, error_description: said, hint: said }
      for (const path of ["/token", "/verify", "/otp"]) idp.instead.set(path, { status, body })
      await attempt()
    }
    for (const token of ["eyJhbGciOiJub25lIn0\n", "eyJhbGciOiJub25lIn0.\u20ac", await idp.mint("somebody else")]) {
      answerWith(token)
      await attempt()
    }
    expect(seen.length).toBeGreaterThan(30)
    const text = seen.map((one) => inspect(one, { depth: null, showHidden: true })).join()
    for (const secret of [ada.email, password, idp.secretKey, "eyJ", "a-hash-of"]) expect(text).not.toContain(secret)
  })
})

describe("the configuration", () => {
  const sealedKey = (text: string) => secrets.seal(clientSecretLabel(providerClient.id), new TextEncoder().encode(text))
  test.each<[string, Partial<ProviderClient>]>([
    ["without an address", { projectUrl: null }],
    ["without a reference", { providerTenant: null }],
    ["without a key", { clientSecretSealed: null }],
    ["with a key of two lines", { clientSecretSealed: sealedKey("sb_secret_1\nx-role: admin") }],
    ["with an empty key", { clientSecretSealed: sealedKey("") }],
    ["with an address in cleartext", { projectUrl: "http://project.example" }],
    ["with an address of another kind", { projectUrl: "file:///etc/passwd" }],
    ["with a password in the address", { projectUrl: "https://user:secret@project.example" }],
    ["with a query in the address", { projectUrl: "https://project.example/?a=" }],
    ["with a fragment in the address", { projectUrl: "https://project.example/#a" }],
  ])("%s causes no request", async (_, change) => {
    expect(await signIn(change)).toBe("PROVIDER_NOT_CONFIGURED")
    expect(idp.requests).toEqual([])
  })

  test("leads to this machine only in development", async () => {
    const idpC = createIdpC({ clock, secrets, isLoopbackAllowed: false })
    expect(await reasonOf(idpC.signIn(client, ada))).toBe("PROVIDER_NOT_CONFIGURED")
    expect(idp.requests).toEqual([])
    expect(issuerOf("http://127.0.0.1:9464", false)).toBeUndefined()
    expect(issuerOf("https://project.example/", false)).toBe("https://project.example/auth/v1")
    expect(issuerOf("https://host.example/project//", false)).toBe("https://host.example/project/auth/v1")
  })

  test("is asked at its own address alone, whatever comes with a request", async () => {
    const urls: string[] = []
    const send = async (url: string, init: RequestInit) => {
      urls.push(url)
      return fetch(url, init)
    }
    const idpC = createIdpC({ clock, secrets, isLoopbackAllowed: true, fetch: send })
    await reasonOf(idpC.signIn(client, { email: "@evil.example/", password: "http://evil.example" }))
    await reasonOf(
      idpC.sendMagicLink(client, { email: ada.email, redirectUri: "https://evil.example/&x=", mayCreate: true }),
    )
    await reasonOf(idpC.confirmMagicLink(client, "evil-example-token-hash"))
    expect(urls.map((url) => url.startsWith(`${idp.projectUrl}/auth/v1/`))).toEqual(urls.map(() => true))
    expect(urls.length).toBe(3)
  })
})
