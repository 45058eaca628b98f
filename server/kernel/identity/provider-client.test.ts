import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { newId } from "../ids.ts"
import type { ProviderClient } from "../records.ts"
import { providerClient } from "../testing/records.ts"
import { formatProviderToken, judgeIdToken, parseProviderToken } from "./provider-client.ts"

const now = 1_800_000_000
const claims = {
  iss: "https://idp-a.example",
  aud: "notes-web",
  azp: "notes-web",
  sub: "ada",
  iat: now - 10,
  exp: now + 3_600,
  nonce: "n-1",
}

function judge(change: Record<string, unknown>, clientChange: Partial<ProviderClient> = {}, expectedNonce = "n-1") {
  const client = { ...providerClient, ...clientChange }
  const kept = Object.fromEntries(Object.entries({ ...claims, ...change }).filter(([, value]) => value !== undefined))
  const judgment = judgeIdToken({ claims: kept, client, expectedNonce, nowSeconds: now })
  return judgment.is === "ok" ? "ok" : `${judgment.reason} ${judgment.claim}`
}

const both = { audiences: ["notes-web", "notes-server"] }

test.each([
  ["its expiry", { exp: now + 5, iat: now - 10 }, now + 35],
  ["its age", { exp: now + 3_600, iat: now - 10 }, now + 591],
])("a token's single use is remembered until the token is refused for %s", (_, change, refusedFromSeconds) => {
  const presented = { claims: { ...claims, ...change }, client: providerClient, expectedNonce: "n-1", nowSeconds: now }
  expect(judgeIdToken(presented)).toMatchObject({ is: "ok", refusedFromSeconds })
})

describe("an ID token is accepted", () => {
  test.each<[string, Record<string, unknown>, Partial<ProviderClient>]>([
    ["with the expected claims", {}, {}],
    ["without an authorized party, for one audience", { azp: undefined }, {}],
    ["with its one audience as a list", { aud: ["notes-web"] }, {}],
    ["with several audiences that are all the client's, when it says who asked", { aud: both.audiences }, both],
    [
      "for a server audience that a native client asked for",
      { azp: "notes-ios" },
      { authorizedParties: ["notes-ios"] },
    ],
    ["from another spelling of the issuer that is accepted", { iss: "idp-a" }, { issuers: ["x", "idp-a"] }],
    ["until 30 s after its expiry", { exp: now - 29 }, {}],
    ["when the provider's clock is 30 s ahead", { iat: now + 30, nbf: now + 30, auth_time: now + 30 }, {}],
    ["when it is 10 minutes old", { iat: now - 600 }, {}],
    ["from a domain that is hosted", { hd: "b.example" }, { hostedDomains: ["a.example", "b.example"] }],
    ["from any domain where none is asked for", { hd: "c.example" }, {}],
  ])("%s", (_, change, clientChange) => {
    expect(judge(change, clientChange)).toBe("ok")
  })
})

describe("an ID token is refused", () => {
  test.each<[string, Record<string, unknown>, Partial<ProviderClient>, string]>([
    ["from another issuer", { iss: "https://evil.example" }, {}, "iss"],
    ["from an issuer with a slash more", { iss: "https://idp-a.example/" }, {}, "iss"],
    ["from an issuer in capitals", { iss: "https://IDP-A.example" }, {}, "iss"],
    ["from an issuer that begins alike", { iss: "https://idp-a.example.evil.example" }, {}, "iss"],
    ["from no issuer", { iss: undefined }, { issuers: [""] }, "iss"],
    ["from a list of issuers", { iss: ["https://idp-a.example"] }, {}, "iss"],
    ["for another client", { aud: "other-web" }, {}, "aud"],
    ["for no audience", { aud: undefined }, {}, "aud"],
    ["for an empty list of audiences", { aud: [] }, {}, "aud"],
    ["for the client and a stranger", { aud: ["notes-web", "other-web"] }, {}, "aud"],
    ["for a list in a list", { aud: [["notes-web"]] }, {}, "aud"],
    ["for several audiences without saying who asked", { aud: both.audiences, azp: undefined }, both, "azp"],
    ["that another client of the provider asked for", { azp: "other-web" }, {}, "azp"],
    ["with an authorized party where none is configured", {}, { authorizedParties: [] }, "azp"],
    ["with an authorized party that is no text", { azp: null }, {}, "azp"],
    ["of nobody", { sub: "" }, {}, "sub"],
    ["of a number", { sub: 7 }, {}, "sub"],
    ["of a subject of 256 characters", { sub: "a".repeat(256) }, {}, "sub"],
    ["of a subject with half a surrogate pair", { sub: "ada\ud800" }, {}, "sub"],
    ["of a subject with U+0000", { sub: "ada\0" }, {}, "sub"],
    ["30 s after its expiry", { exp: now - 30 }, {}, "exp"],
    ["without an expiry", { exp: undefined }, {}, "exp"],
    ["with an expiry that is text", { exp: String(now + 10) }, {}, "exp"],
    ["older than 10 minutes, though unexpired", { iat: now - 601 }, {}, "iat"],
    ["from the future", { iat: now + 31 }, {}, "iat"],
    ["without a time of issue", { iat: undefined }, {}, "iat"],
    ["before its time", { nbf: now + 31 }, {}, "nbf"],
    ["of an authentication in the future", { auth_time: now + 31 }, {}, "auth_time"],
    ["of an authentication at a text", { auth_time: "1" }, {}, "auth_time"],
    ["from another domain", { hd: "c.example" }, { hostedDomains: ["a.example"] }, "hd"],
    ["from no domain where one is asked for", {}, { hostedDomains: ["a.example"] }, "hd"],
  ])("%s", (_, change, clientChange, claim) => {
    expect(judge(change, clientChange)).toBe(`PROVIDER_TOKEN_INVALID ${claim}`)
  })

  test.each<[string, unknown, string, boolean, string]>([
    ["of another sign-in", "n-2", "n-1", true, "NONCE_MISMATCH nonce"],
    ["without the sign-in's nonce", undefined, "n-1", true, "NONCE_MISMATCH nonce"],
    ["without the sign-in's nonce, though none is required", undefined, "n-1", false, "NONCE_MISMATCH nonce"],
    ["of a sign-in that had a nonce, by one that has none", "n-1", "", false, "NONCE_MISMATCH nonce"],
    ["with an empty nonce by a sign-in without", "", "", false, "NONCE_MISMATCH nonce"],
    ["where a nonce is required and nobody has one", undefined, "", true, "NONCE_MISMATCH nonce"],
    ["with a list of nonces", ["n-1"], "n-1", true, "NONCE_MISMATCH nonce"],
    ["only where there is reason: no nonce where none is required passes", undefined, "", false, "ok"],
  ])("%s", (_, carried, expected, requireNonce, result) => {
    expect(judge({ nonce: carried }, { requireNonce }, expected)).toBe(result)
  })
})

describe("the facts of a verified token", () => {
  function vouched(change: Record<string, unknown>, clientChange: Partial<ProviderClient> = {}) {
    const client = { ...providerClient, ...clientChange }
    const judgment = judgeIdToken({ claims: { ...claims, ...change }, client, expectedNonce: "n-1", nowSeconds: now })
    if (judgment.is !== "ok") throw new Error(judgment.claim)
    return judgment
  }

  test("is the subject at the canonical issuer, whatever spelling the token has", () => {
    const { vouched: v } = vouched({ iss: "idp-a" }, { issuers: ["idp-a"], canonicalIssuer: "https://idp-a.example" })
    expect(v).toMatchObject({ issuer: "https://idp-a.example", subject: "ada", providerTenant: null })
  })

  test.each<[unknown, boolean]>([
    [true, true],
    ["true", false],
    [1, false],
    [undefined, false],
    [false, false],
  ])("an email whose email_verified is %j is verified: %j", (emailVerified, expected) => {
    const { vouched: v } = vouched({ email: "ada@example.com", email_verified: emailVerified })
    expect(v).toMatchObject({ email: "ada@example.com", emailVerified: expected })
  })

  test("has no email and no name if the claims are not text", () => {
    expect(vouched({ email: ["a@b.c"], name: { first: "Ada" } }).vouched).toMatchObject({ email: null, name: null })
    expect(vouched({ email: "a\0@b.c", name: "Ada\0" }).vouched).toMatchObject({ email: null, name: null })
    expect(vouched({ email: "\ud800@b.c", name: "\udfff" }).vouched).toMatchObject({ email: null, name: null })
  })

  test("has the token's auth_time, with no substitute for a missing one", () => {
    expect(vouched({ auth_time: now - 5_000 }).vouched.authTimeMs).toBe((now - 5_000) * 1000)
    expect(vouched({}).vouched.authTimeMs).toBeNull()
  })

  test("need not be remembered once its expiry refuses it", () => {
    const time = fc.integer({ min: -700, max: 4_000 })
    fc.assert(
      fc.property(time, time, fc.nat(700), (iat, exp, later) => {
        const at = (nowSeconds: number) =>
          judgeIdToken({
            claims: { ...claims, iat: now + iat, exp: now + exp },
            client: providerClient,
            expectedNonce: "n-1",
            nowSeconds,
          })
        const first = at(now)
        fc.pre(first.is === "ok")
        if (first.is === "ok") expect(at(first.refusedFromSeconds + later).is).toBe("refuse")
      }),
    )
  })
})

describe("a provider's refresh token", () => {
  const clientId = newId("pcl", 1, new Uint8Array(10))

  test("is sealed with the client that it was issued to", () => {
    const token = { clientId, token: "rt a  b" }
    expect(parseProviderToken(formatProviderToken(token))).toEqual(token)
  })

  test.each([
    ["without a client", "rt"],
    ["of another kind of id", `${newId("sac", 1, new Uint8Array(10))} rt`],
    ["of a client that is no id", `pcl_${"u".repeat(26)} rt`],
    ["with another separator", `${clientId}.rt`],
  ])("is not read %s", (_, text) => {
    expect(parseProviderToken(text)).toBeUndefined()
  })
})
