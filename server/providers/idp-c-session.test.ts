import { tokenSecretLabel } from "@signet/kernel/keys/sealed-columns"
import type { ProviderClient } from "@signet/kernel/records"
import { CompactSign, exportSPKI, importJWK, type JWTPayload, SignJWT } from "jose"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { clientOfProject, reasonOf, secrets } from "../../test/support/email-project-suite.ts"
import { type FakeIdpC, startFakeIdpC } from "../../test/support/idp-c.ts"
import { createIdpC } from "./idp-c.ts"

const nowMs = 1_800_000_000_000
const clock = { nowMs: () => nowMs }
const now = () => nowMs / 1000
const ada = { email: "ada@example.com", password: "correct-horse-1" }
const redirectUri = "https://notes.example/signed-in"

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
  idp.requests.length = 0
  idp.instead.clear()
})
afterAll(() => Promise.all([idp.stop(), withSecret.stop()]))

const newIdpC = () => createIdpC({ clock, secrets, isLoopbackAllowed: true })
const signIn = (change: Partial<ProviderClient> = {}) => reasonOf(newIdpC().signIn({ ...client, ...change }, ada))
const askedPaths = () => idp.requests.map(({ url }) => new URL(url, "http://x").pathname.replace(/.*\/auth\/v1/, ""))

/** The project answers a password with this token and this person. */
function answerWith(accessToken: string, user: Record<string, unknown> = {}): void {
  const usual = { id: adaId, email: ada.email, email_confirmed_at: "2026-01-01T00:00:00Z", is_anonymous: false }
  idp.instead.set("/token", { status: 200, body: { access_token: accessToken, user: { ...usual, ...user } } })
}

describe("a session of the project", () => {
  test("contains the user and the time of the authentication", async () => {
    const amr = [
      { method: "password", timestamp: now() - 5 },
      { method: "otp", timestamp: now() - 90 },
    ]
    answerWith(await idp.mint(adaId, { amr, iat: now() }), { user_metadata: { full_name: "Ada Lovelace" } })
    expect(await newIdpC().signIn(client, ada)).toEqual({
      issuer: `${idp.projectUrl}/auth/v1`,
      subject: adaId,
      providerTenant: "projectref",
      email: "ada@example.com",
      emailVerified: true,
      isRelayEmail: false,
      name: "Ada Lovelace",
      authTimeMs: (now() - 5) * 1000,
      providerRefreshToken: null,
      singleUse: null,
    })
  })

  test.each<[string, unknown]>([
    ["has no methods", undefined],
    ["has methods without a time", [{ method: "password" }]],
    ["has methods of the future alone", [{ method: "password", timestamp: now() + 3_600 }]],
  ])("that %s has no authentication time", async (_, amr) => {
    answerWith(await idp.mint(adaId, { amr, iat: now() }))
    expect(await newIdpC().signIn(client, ada)).toMatchObject({ authTimeMs: null })
  })

  test.each<[string, JWTPayload, Record<string, unknown>, string]>([
    ["of another project", { iss: "https://other.example/auth/v1" }, {}, "PROVIDER_TOKEN_INVALID iss"],
    ["of the project's bare address", { iss: "PROJECT" }, {}, "PROVIDER_TOKEN_INVALID iss"],
    ["for another audience", { aud: "service" }, {}, "PROVIDER_TOKEN_INVALID aud"],
    ["for another audience as well", { aud: ["authenticated", "service"] }, {}, "PROVIDER_TOKEN_INVALID aud"],
    [
      "of another person than the answer's",
      {},
      { id: "6b9ed617-63cb-424f-a433-e6d91698f11b" },
      "PROVIDER_TOKEN_INVALID sub",
    ],
    ["beside nobody", {}, { id: undefined }, "PROVIDER_TOKEN_INVALID sub"],
    ["of nobody", { sub: undefined }, { id: undefined }, "PROVIDER_TOKEN_INVALID sub"],
    ["that has expired", { exp: 1_700_000_000 }, {}, "PROVIDER_TOKEN_INVALID exp"],
    ["that is old", { iat: 1_700_000_000 }, {}, "PROVIDER_TOKEN_INVALID iat"],
    ["from the future", { iat: 1_900_000_000 }, {}, "PROVIDER_TOKEN_INVALID iat"],
    ["that starts later", { nbf: 1_900_000_000 }, {}, "PROVIDER_TOKEN_INVALID nbf"],
    ["of somebody anonymous", { is_anonymous: true }, {}, "PROVIDER_TOKEN_INVALID is_anonymous"],
    ["beside somebody anonymous", {}, { is_anonymous: true }, "PROVIDER_TOKEN_INVALID is_anonymous"],
    ["beside somebody marked otherwise", {}, { is_anonymous: "true" }, "PROVIDER_TOKEN_INVALID is_anonymous"],
    ["beside no address", {}, { email: "" }, "PROVIDER_TOKEN_INVALID email"],
    ["of another address", { email: "bob@example.com" }, {}, "PROVIDER_TOKEN_INVALID email"],
    ["beside an address that was not shown", {}, { email_confirmed_at: null }, "EMAIL_NOT_VERIFIED email_confirmed_at"],
    ["beside one shown in no time", {}, { email_confirmed_at: "" }, "EMAIL_NOT_VERIFIED email_confirmed_at"],
    [
      "beside one with a phone that was",
      {},
      { email_confirmed_at: undefined, confirmed_at: "2026-01-01T00:00:00Z" },
      "EMAIL_NOT_VERIFIED email_confirmed_at",
    ],
  ])("%s is refused, and ended all the same", async (_, claims, user, expected) => {
    const iss = claims.iss === "PROJECT" ? { iss: idp.projectUrl } : {}
    answerWith(await idp.mint(adaId, { ...claims, ...iss }), user)
    expect(await signIn()).toBe(expected)
    expect(askedPaths().at(-1)).toBe("/logout")
  })

  test("of somebody anonymous is refused for a link too", async () => {
    idp.project.people.put({ email: "anonymous@example.com", isAnonymous: true })
    await newIdpC().sendMagicLink(client, { email: "anonymous@example.com", redirectUri, mayCreate: false })
    const { tokenHash = "" } = idp.mails().at(-1) ?? {}
    expect(await reasonOf(newIdpC().confirmMagicLink(client, tokenHash))).toBe("PROVIDER_TOKEN_INVALID is_anonymous")
  })
})

describe("a token", () => {
  const hs256 = (secret: Uint8Array, header = {}) =>
    new SignJWT({ iss: `${idp.projectUrl}/auth/v1`, aud: "authenticated", sub: adaId, iat: now(), exp: now() + 60 })
      .setProtectedHeader({ alg: "HS256", typ: "JWT", ...header })
      .sign(secret)
  const encode = (text: string) => new TextEncoder().encode(text)

  test("made with the published key as if it were a secret is refused", async () => {
    const [jwk] = idp.project.keys.published
    const key = await importJWK({ ...jwk, alg: "ES256" }, "ES256")
    if (key instanceof Uint8Array || jwk === undefined) throw new Error("no key")
    for (const secret of [await exportSPKI(key), JSON.stringify(jwk), String(jwk.x)]) {
      answerWith(await hs256(encode(secret), { kid: jwk.kid }))
      expect(await signIn()).toBe("PROVIDER_TOKEN_INVALID alg")
    }
  })

  test("made with a secret is refused where keys are published, and the other way round", async () => {
    answerWith(await hs256(encode(withSecret.tokenSecret ?? "")))
    expect(await signIn()).toBe("PROVIDER_TOKEN_INVALID alg")
    answerWith(await idp.mint(adaId))
    expect(await signIn({ tokenSecretSealed: clientOfProject(withSecret).tokenSecretSealed })).toBe(
      "PROVIDER_TOKEN_INVALID signature",
    )
  })

  test("of another project that has the same person is refused", async () => {
    answerWith(await withSecret.mint(adaId))
    const { tokenSecretSealed } = clientOfProject(withSecret)
    expect(await signIn({ tokenSecretSealed })).toBe("PROVIDER_TOKEN_INVALID iss")
  })

  test.each(["e30.e30.", "not a token", "", "a.b.c", `e30.${"e30".repeat(6_000)}.e30`])(
    "that is malformed is refused (%#)",
    async (token) => {
      const { tokenSecretSealed } = clientOfProject(withSecret)
      answerWith(token)
      expect(await signIn()).toMatch(/^PROVIDER_TOKEN_INVALID (form|header|alg|size)$/)
      expect(await signIn({ tokenSecretSealed })).toMatch(/^PROVIDER_TOKEN_INVALID (signature|size)$/)
    },
  )

  test("of a secret is of type JWT or of none, an object, and no longer than any provider's", async () => {
    const secret = encode(withSecret.tokenSecret ?? "")
    const { tokenSecretSealed } = clientOfProject(withSecret)
    const reasonWith = async (token: string) => {
      answerWith(token)
      return signIn({ tokenSecretSealed })
    }
    expect(await reasonWith(await hs256(secret, { typ: undefined }))).not.toMatch(/typ|form|size|signature/)
    expect(await reasonWith(await hs256(secret, { typ: "at+jwt" }))).toBe("PROVIDER_TOKEN_INVALID typ")
    const signed = (text: string) =>
      new CompactSign(encode(text)).setProtectedHeader({ alg: "HS256", typ: "JWT" }).sign(secret)
    for (const text of ["[]", "1", "null"]) {
      expect(await reasonWith(await signed(text))).toBe("PROVIDER_TOKEN_INVALID form")
    }
    const [longest, longer] = [12_225, 12_226].map((length) => signed(" ".repeat(length)))
    expect((await longest)?.length).toBeLessThanOrEqual(16_384)
    expect(await reasonWith((await longest) ?? "")).toBe("PROVIDER_TOKEN_INVALID signature")
    expect(await reasonWith(`${await longer}xxxxx`)).toBe("PROVIDER_TOKEN_INVALID size")
  })

  test("is not verified with a guessable secret", async () => {
    const short = secrets.seal(tokenSecretLabel(client.id), encode("x".repeat(31)))
    answerWith(await hs256(encode("x".repeat(31))))
    expect(await signIn({ tokenSecretSealed: short })).toBe("PROVIDER_NOT_CONFIGURED")
    const foreign = secrets.seal("another label" as never, encode("x".repeat(40)))
    await expect(newIdpC().signIn({ ...client, tokenSecretSealed: foreign }, ada)).rejects.toThrow("does not open")
  })
})
