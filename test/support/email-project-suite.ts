// The tests of IDP_C against any project: the stand-in, or Supabase Auth itself.
import { Refused } from "@signet/kernel/errors"
import type { EmailProvider } from "@signet/kernel/identity/provider-ports"
import { clientSecretLabel, tokenSecretLabel } from "@signet/kernel/keys/sealed-columns"
import type { ProviderClient } from "@signet/kernel/records"
import { providerClient } from "@signet/kernel/testing/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createSecrets } from "../../server/keys/secrets.ts"
import { createIdpC } from "../../server/providers/idp-c.ts"
import type { EmailProject } from "./email-project.ts"
import { password, refusals, version } from "./email-project-facts.ts"

export const secrets = createSecrets({
  peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }],
  sealingKey: new Uint8Array(32).fill(2),
})
const clock = { nowMs: () => Date.now() }
const redirectUri = "https://notes.example/signed-in"

/** A client for the project as an administrator would create it. */
export function clientOfProject(project: EmailProject): ProviderClient {
  const encode = (text: string) => new TextEncoder().encode(text)
  const { id } = providerClient
  return {
    ...providerClient,
    provider: "IDP_C",
    canonicalIssuer: `${project.projectUrl}/auth/v1`,
    providerTenant: "projectref",
    projectUrl: project.projectUrl,
    clientSecretSealed: secrets.seal(clientSecretLabel(id), encode(project.secretKey)),
    tokenSecretSealed:
      project.tokenSecret === null ? null : secrets.seal(tokenSecretLabel(id), encode(project.tokenSecret)),
  }
}

/** The reason with its metadata. */
export async function reasonOf(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return "ok"
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return [error.reason, ...Object.values(error.metadata)].join(" ")
  }
}

export function testEmailProject(start: () => Promise<EmailProject>): void {
  let project: EmailProject
  let client: ProviderClient
  let idpC: EmailProvider
  let ada: { id: string }

  beforeAll(async () => {
    project = await start()
    client = clientOfProject(project)
    idpC = createIdpC({ clock, secrets, isLoopbackAllowed: true })
    ada = await project.addPerson({ email: "ada@example.com", password, isConfirmed: true })
    await project.addPerson({ email: "una@example.com", password, isConfirmed: false })
  }, 60_000)
  afterAll(() => project?.stop())

  const linkFor = async (email: string, mayCreate = false) => {
    await idpC.sendMagicLink(client, { email, redirectUri, mayCreate })
    const mail = project.mails().at(-1)
    if (mail?.to !== email) throw new Error("no mail was sent")
    return mail
  }

  test.each(refusals)(
    "the project still refuses $what with the known answer",
    async ({ path, body, headers, status, answer }) => {
      const refused = await project.ask(path, body, headers)
      const { error_id: _, ...said } = await refused.json()
      expect([refused.status, said]).toEqual([status, answer])
    },
  )

  test("a password sign-in returns the user's account key and leaves no session at the project", async () => {
    const before = await project.countSessions()
    const vouched = await idpC.signIn(client, { email: "Ada@Example.com", password })
    expect(vouched).toEqual({
      issuer: `${project.projectUrl}/auth/v1`,
      subject: ada.id,
      providerTenant: "projectref",
      email: "ada@example.com",
      emailVerified: true,
      isRelayEmail: false,
      name: null,
      authTimeMs: expect.any(Number),
      providerRefreshToken: null,
      singleUse: null,
    })
    expect(Math.abs((vouched.authTimeMs ?? 0) - Date.now())).toBeLessThan(10_000)
    expect(await project.countSessions()).toBe(before)
  })

  test("the secret key is in the header apikey and nowhere else; the session ends as its own bearer", async () => {
    project.requests.length = 0
    await idpC.signIn(client, { email: "ada@example.com", password })
    const calls = project.requests.filter(({ url }) => !url.includes("/.well-known/"))
    expect(calls.map(({ method, url }) => `${method} ${new URL(url, "http://x").pathname}`)).toEqual([
      expect.stringMatching(/^POST .*\/auth\/v1\/token$/),
      expect.stringMatching(/^POST .*\/auth\/v1\/logout$/),
    ])
    for (const { url, headers, body } of calls) {
      const { apikey, ...others } = headers
      expect(apikey).toBe(project.secretKey)
      expect(JSON.stringify([url, others, body])).not.toContain(project.secretKey)
    }
    expect(calls.map(({ headers }) => headers.authorization)).toEqual([undefined, expect.stringMatching(/^Bearer ey/)])
    const keyFetches = project.requests.filter(({ url }) => url.includes("/.well-known/"))
    expect(JSON.stringify(keyFetches)).not.toContain(project.secretKey)
  })

  test("nobody learns whether an address is known, nor who has not shown it, without the password", async () => {
    expect(await reasonOf(idpC.signIn(client, { email: "ada@example.com", password: "wrong" }))).toBe(
      "INVALID_CREDENTIALS",
    )
    expect(await reasonOf(idpC.signIn(client, { email: "nobody@example.com", password }))).toBe("INVALID_CREDENTIALS")
    expect(await reasonOf(idpC.signIn(client, { email: "una@example.com", password: "wrong" }))).toBe(
      "INVALID_CREDENTIALS",
    )
    expect(await reasonOf(idpC.signIn(client, { email: "una@example.com", password }))).toBe("EMAIL_NOT_VERIFIED")
  })

  test("a magic link leads to the requested page, signs its user in, and is accepted once", async () => {
    const before = await project.countSessions()
    const { tokenHash, link, type } = await linkFor("ada@example.com")
    expect(link.startsWith(redirectUri)).toBe(true)
    expect(type).toBe("magiclink")
    const vouched = await idpC.confirmMagicLink(client, tokenHash)
    expect(vouched).toMatchObject({ subject: ada.id, email: "ada@example.com", emailVerified: true })
    expect(vouched.singleUse?.tokenHash).toHaveLength(32)
    expect(await reasonOf(idpC.confirmMagicLink(client, tokenHash))).toBe("MAGIC_LINK_INVALID")
    expect(await project.countSessions()).toBe(before)
  })

  test("concurrent uses of one link get the same single-use token hash", async () => {
    const { tokenHash } = await linkFor("ada@example.com")
    const tries = await Promise.allSettled(Array.from({ length: 4 }, () => idpC.confirmMagicLink(client, tokenHash)))
    const uses = tries.flatMap((one) => (one.status === "fulfilled" ? [one.value.singleUse?.tokenHash] : []))
    expect(uses.length).toBeGreaterThan(0)
    expect(new Set(uses.map((use) => Buffer.from(use ?? []).toString("hex"))).size).toBe(1)
  })

  test("a new user's link creates the account, and a second link finds the same user", async () => {
    const first = await linkFor("new@example.com", true)
    expect(first.type).toBe("signup")
    const { subject } = await idpC.confirmMagicLink(client, first.tokenHash)
    const second = await linkFor("new@example.com")
    expect(second.type).toBe("magiclink")
    expect((await idpC.confirmMagicLink(client, second.tokenHash)).subject).toBe(subject)
  })

  test("a link for an unknown address gets the same answer, and nothing is sent", async () => {
    const before = project.mails().length
    await idpC.sendMagicLink(client, { email: "nobody@example.com", redirectUri, mayCreate: false })
    expect(project.mails().length).toBe(before)
  })

  test("a link to a page that the project does not allow leads to its site, so no other page is told the hash", async () => {
    await idpC.sendMagicLink(client, {
      email: "ada@example.com",
      redirectUri: "https://evil.example/",
      mayCreate: false,
    })
    expect(project.mails().at(-1)?.link).not.toContain("evil.example")
  })

  test("a scanner's HEAD request uses up no link, even at the project's own address", async () => {
    const { tokenHash } = await linkFor("ada@example.com")
    const address = `${project.projectUrl}/auth/v1/verify?token=${tokenHash}&type=magiclink`
    const head = await fetch(address, { method: "HEAD", redirect: "manual", headers: { apikey: project.secretKey } })
    expect(head.status).toBe(405)
    expect((await idpC.confirmMagicLink(client, tokenHash)).subject).toBe(ada.id)
  })

  test("a scanner's GET request uses up a link at the project's own address, so mails must link to the app's page", async () => {
    const { tokenHash } = await linkFor("ada@example.com")
    const address = `${project.projectUrl}/auth/v1/verify?token=${tokenHash}&type=magiclink`
    const get = await fetch(address, { redirect: "manual", headers: { apikey: project.secretKey } })
    expect(get.status).toBe(303)
    expect(await reasonOf(idpC.confirmMagicLink(client, tokenHash))).toBe("MAGIC_LINK_INVALID")
  })

  test("a wrong project key is reported as a configuration error", async () => {
    const clientSecretSealed = secrets.seal(clientSecretLabel(client.id), new TextEncoder().encode("sb_secret_other"))
    const other = { ...client, clientSecretSealed }
    expect(await reasonOf(idpC.signIn(other, { email: "ada@example.com", password }))).toBe("PROVIDER_NOT_CONFIGURED")
  })

  test("a project that signs its tokens in another way than configured is refused", async () => {
    const sealed = secrets.seal(tokenSecretLabel(client.id), new TextEncoder().encode("another secret ".repeat(3)))
    const tokenSecretSealed = client.tokenSecretSealed === null ? sealed : null
    const before = await project.countSessions()
    expect(
      await reasonOf(idpC.signIn({ ...client, tokenSecretSealed }, { email: "ada@example.com", password })),
    ).toMatch(/^PROVIDER_TOKEN_INVALID (alg|signature)$/)
    expect(await project.countSessions()).toBe(before)
  })

  test("a password from before the address was confirmed is invalid once the link confirms it", async () => {
    await project.ask("/signup", { email: "victim@example.com", password: "set-by-a-stranger-1" })
    const stranger = { email: "victim@example.com", password: "set-by-a-stranger-1" }
    expect(await reasonOf(idpC.signIn(client, stranger))).toBe("EMAIL_NOT_VERIFIED")
    const before = await project.countSessions()
    const { tokenHash } = await linkFor("victim@example.com", true)
    const { subject } = await idpC.confirmMagicLink(client, tokenHash)
    expect(await project.countSessions()).toBe(before)
    expect(await reasonOf(idpC.signIn(client, stranger))).toBe("INVALID_CREDENTIALS")
    const again = await linkFor("victim@example.com")
    expect((await idpC.confirmMagicLink(client, again.tokenHash)).subject).toBe(subject)
  })

  test("a link does not change the password of a user with a confirmed address", async () => {
    const { tokenHash } = await linkFor("ada@example.com")
    await idpC.confirmMagicLink(client, tokenHash)
    expect((await idpC.signIn(client, { email: "ada@example.com", password })).subject).toBe(ada.id)
  })
}

/** Tests of a project that accepts no new users, and sends no second mail within a minute. */
export function testClosedProject(start: () => Promise<EmailProject>): void {
  let project: EmailProject
  const idpC = createIdpC({ clock, secrets, isLoopbackAllowed: true })
  beforeAll(async () => {
    project = await start()
    await project.addPerson({ email: "ada@example.com", password, isConfirmed: true })
  }, 60_000)
  afterAll(() => project?.stop())

  const send = (email: string, mayCreate: boolean) =>
    reasonOf(idpC.sendMagicLink(clientOfProject(project), { email, redirectUri, mayCreate }))

  test("links for known and unknown users get the same answers, the first time and the second", async () => {
    expect(await send("ada@example.com", false)).toBe("ok")
    expect(project.mails()).toHaveLength(1)
    expect(await send("ada@example.com", false)).toBe("ok")
    for (const mayCreate of [false, true]) expect(await send("nobody@example.com", mayCreate)).toBe("ok")
    expect(project.mails()).toHaveLength(1)
  })

  test("the limit is told, with the seconds, to a client that says that it takes new people", async () => {
    expect(await send("ada@example.com", true)).toMatch(/^RATE_LIMITED ([1-9]|[1-5][0-9]|60)$/)
  })

  test("the refusals behind that are these", async () => {
    const ask = async (email: string, create_user: boolean) => {
      const answer = await project.ask("/otp", { email, create_user }, version)
      return [answer.status, (await answer.json()).code]
    }
    expect(await ask("ada@example.com", false)).toEqual([429, "over_email_send_rate_limit"])
    expect(await ask("nobody@example.com", true)).toEqual([422, "signup_disabled"])
    expect(await ask("nobody@example.com", false)).toEqual([422, "otp_disabled"])
  })
}
