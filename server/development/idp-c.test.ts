import type { AddressInfo } from "node:net"
import type { FastifyInstance } from "fastify"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { reasonOf, secrets } from "../../test/support/email-project-suite.ts"
import { createHttp } from "../node/http.ts"
import { createIdpC } from "../providers/idp-c.ts"
import { buildDevelopmentApp } from "./app.ts"
import { createDevelopmentIdpC, type DevelopmentIdpC, developmentPassword } from "./idp-c.ts"
import { buildIdpCClients, linkPath } from "./idp-c-clients.ts"
import { developmentPlugin } from "./plugin.ts"

const clock = { nowMs: () => Date.now() }
let app: FastifyInstance
let origin = ""
let idp: DevelopmentIdpC
const idpC = createIdpC({ clock, secrets, isLoopbackAllowed: true })

beforeAll(async () => {
  app = createHttp({
    onFault: (fault) => {
      throw fault
    },
  })
  idp = createDevelopmentIdpC({ profile: "development", origin: () => origin, clock })
  app.register(developmentPlugin, { idp })
  await app.listen({ host: "127.0.0.1", port: 0 })
  origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
})
afterEach(() => turn({ down: false, delayMs: 0, spelling: "codes", isSignupDisabled: false }))
afterAll(() => app.close())

const clients = () => buildIdpCClients(origin, idp, secrets)
const webClient = () => {
  const client = clients().find(({ platform }) => platform === "WEB")
  if (client === undefined) throw new Error("no client")
  return client
}
const turn = (switches: object) =>
  fetch(`${origin}/dev/idp-c/switches`, { method: "POST", body: JSON.stringify(switches) })
const ada = { email: "ada@example.com", password: developmentPassword }

/** The link in the newest mail. */
async function newestLink(): Promise<URL> {
  const { mails } = await (await fetch(`${origin}/dev/idp-c/outbox`)).json()
  return new URL(mails[0].link)
}

async function sendLink(redirectUri = origin + linkPath): Promise<URL> {
  await idpC.sendMagicLink(webClient(), { email: "grace@example.com", redirectUri, mayCreate: true })
  return newestLink()
}

test("production has no stand-in for IDP_C", () => {
  for (const profile of ["production", "", "Development"]) {
    expect(() => createDevelopmentIdpC({ profile, origin: () => origin, clock })).toThrow("development profile only")
  }
})

test("every platform of the development app gets the same user from one project", async () => {
  const people = await Promise.all(clients().map((client) => idpC.signIn(client, ada)))
  expect(people.map(({ name }) => name)).toEqual(["Ada Lovelace", "Ada Lovelace", "Ada Lovelace"])
  expect(
    new Set(people.map(({ issuer, providerTenant, subject }) => `${issuer} ${providerTenant} ${subject}`)),
  ).toEqual(new Set([`https://idp-c.invalid/auth/v1 devproject ${people[0]?.subject}`]))
})

test("the unconfirmed and the anonymous user are refused", async () => {
  const signIn = (email: string) => reasonOf(idpC.signIn(webClient(), { ...ada, email }))
  expect(await signIn("unconfirmed@example.com")).toBe("EMAIL_NOT_VERIFIED")
  expect(await signIn("anonymous@example.com")).toBe("PROVIDER_TOKEN_INVALID is_anonymous")
})

test("a scanner that opens the link consumes nothing; the page's button does, once", async () => {
  const link = await sendLink()
  for (const method of ["HEAD", "GET", "GET", "OPTIONS"]) {
    const opened = await fetch(link, { method })
    await opened.text()
    if (method === "OPTIONS") continue
    expect(opened.status).toBe(200)
    expect(opened.headers.get("referrer-policy")).toBe("no-referrer")
    expect(opened.headers.get("content-security-policy")).toContain("default-src 'none'")
  }
  const tokenHash = link.searchParams.get("token_hash") ?? ""
  expect((await idpC.confirmMagicLink(webClient(), tokenHash)).email).toBe("grace@example.com")
  expect(await reasonOf(idpC.confirmMagicLink(webClient(), tokenHash))).toBe("MAGIC_LINK_INVALID")
})

test("the page does not depend on its URL", async () => {
  const page = async (query: string) =>
    (await (await fetch(origin + linkPath + query)).text()).replace(/nonce="[^"]+"/, "")
  expect(await page('?token_hash="><script>alert(1)</script>')).toBe(await page(""))
})

test("links lead only to targets that the development app allows", async () => {
  const { settings } = buildDevelopmentApp(origin, "auth")
  for (const redirectUri of settings.allowedRedirectUris) {
    expect((await sendLink(redirectUri)).href.startsWith(`${redirectUri}?token_hash=`)).toBe(true)
  }
  const elsewhere = await sendLink("https://evil.example/")
  expect(`${elsewhere.origin}${elsewhere.pathname}`).toBe(origin + linkPath)
})

test("the stand-in can be down, slow, and use the old error format", async () => {
  await turn({ down: true })
  expect(await reasonOf(idpC.signIn(webClient(), ada))).toBe("UPSTREAM_UNAVAILABLE")
  await turn({ down: false, delayMs: 30, spelling: "sentences" })
  const startMs = Date.now()
  expect(await reasonOf(idpC.signIn(webClient(), { ...ada, password: "wrong" }))).toBe("INVALID_CREDENTIALS")
  expect(Date.now() - startMs).toBeGreaterThanOrEqual(29)
})

test.each([{ up: true }, { delayMs: -1 }, { down: "yes" }, { spelling: "runes" }, []])(
  "an invalid switch changes nothing: %j",
  async (switches) => {
    expect((await turn(switches)).status).toBe(400)
    expect(idp.switches).toEqual({ down: false, delayMs: 0 })
  },
)

test("other paths are not found", async () => {
  expect((await fetch(`${origin}/dev/idp-c/people`)).status).toBe(404)
  expect((await fetch(`${origin}/dev/idp-c/outbox`, { method: "POST" })).status).toBe(404)
  const { secretKey } = idp
  const ask = (headers: Record<string, string>) =>
    fetch(`${origin}/dev/idp-c/auth/v1/nothing`, { headers }).then(({ status }) => status)
  expect([await ask({}), await ask({ apikey: "other" }), await ask({ apikey: secretKey })]).toEqual([401, 401, 404])
  expect(await ask({ apikey: secretKey, authorization: `Bearer ${secretKey}` })).toBe(401)
})

test("a link expires after an hour", async () => {
  let nowMs = Date.now()
  const later = createDevelopmentIdpC({ profile: "development", origin: () => origin, clock: { nowMs: () => nowMs } })
  const { people } = await later.project()
  const { tokenHash } = people.issueLink(people.put({ email: "late@example.com" }))
  expect(people.findByLink(tokenHash)?.email).toBe("late@example.com")
  nowMs += 3_600_000
  expect(people.findByLink(tokenHash)).toBeUndefined()
})
