import { describe, expect, test } from "vitest"
import { providerClient as client } from "../testing/records.ts"
import { isFirstConfirmed, judgeEmailSession, judgePresentedSession, sessionTokenProblem } from "./email-session.ts"

const nowSeconds = 1_800_000_000
const issuer = "https://project.example/auth/v1"
const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()
const claims = {
  iss: issuer,
  aud: "authenticated",
  sub: "ada",
  exp: nowSeconds + 600,
  iat: nowSeconds - 60,
  email: "ada@example.com",
}
const user = { id: "ada", email: "ada@example.com", email_confirmed_at: "2026-01-01T00:00:00Z" }

const presented = (change: object = {}, changedUser: object = {}) => ({
  claims: { ...claims, ...change },
  user: { ...user, ...changedUser },
  client,
  issuer,
  nowSeconds,
})
const said = (judgment: ReturnType<typeof judgeEmailSession>) =>
  judgment.is === "ok" ? "ok" : `${judgment.reason} ${judgment.claim}`

test.each<[string, object, object, string]>([
  ["good", {}, {}, "ok"],
  ["of a project that names its audience in a list", { aud: ["authenticated"] }, {}, "ok"],
  ["without an audience", { aud: [] }, {}, "PROVIDER_TOKEN_INVALID aud"],
  ["of a subject that is too long", { sub: "a".repeat(256) }, { id: "a".repeat(256) }, "PROVIDER_TOKEN_INVALID sub"],
  ["of an empty subject", { sub: "" }, { id: "" }, "PROVIDER_TOKEN_INVALID sub"],
  ["within the leeway after its end", { exp: nowSeconds - 29 }, {}, "ok"],
  ["after the leeway", { exp: nowSeconds - 30 }, {}, "PROVIDER_TOKEN_INVALID exp"],
  ["without an end", { exp: undefined }, {}, "PROVIDER_TOKEN_INVALID exp"],
  ["without a beginning", { iat: undefined }, {}, "PROVIDER_TOKEN_INVALID iat"],
  ["made within the leeway from now", { iat: nowSeconds + 30 }, {}, "ok"],
  ["made later than that", { iat: nowSeconds + 31 }, {}, "PROVIDER_TOKEN_INVALID iat"],
  ["made ten minutes ago", { iat: nowSeconds - 600 }, {}, "ok"],
  ["made before that", { iat: nowSeconds - 601 }, {}, "PROVIDER_TOKEN_INVALID iat"],
  ["good since the leeway from now", { nbf: nowSeconds + 30 }, {}, "ok"],
  ["good later than that", { nbf: nowSeconds + 31 }, {}, "PROVIDER_TOKEN_INVALID nbf"],
  ["whose token names no address", { email: undefined }, {}, "ok"],
  ["of an address that is too long", {}, { email: "a".repeat(321) }, "PROVIDER_TOKEN_INVALID email"],
  ["whose token names another address", { email: "eve@example.com" }, {}, "PROVIDER_TOKEN_INVALID email"],
  ["of an address confirmed at no time", {}, { email_confirmed_at: 5 }, "EMAIL_NOT_VERIFIED email_confirmed_at"],
])("a session %s: %s", (_, change, changedUser, expected) => {
  expect(said(judgeEmailSession(presented(change, changedUser)))).toBe(expected)
})

describe("a presented session", () => {
  test.each<[string, unknown, string]>([
    ["not banned", null, "ok"],
    ["banned until now", iso(nowSeconds), "ok"],
    ["banned until later", iso(nowSeconds + 1), "PROVIDER_TOKEN_INVALID banned_until"],
    ["banned until a time that nobody can read", "for ever", "PROVIDER_TOKEN_INVALID banned_until"],
    ["banned until a number", 0, "PROVIDER_TOKEN_INVALID banned_until"],
  ])("of somebody %s", (_, until, expected) => {
    expect(said(judgePresentedSession(presented({}, { banned_until: until })))).toBe(expected)
  })

  test("is refused if its link has just confirmed the address", () => {
    const confirmed = (seconds: number) => presented({}, { email_confirmed_at: iso(seconds) })
    expect(said(judgePresentedSession(confirmed(claims.iat - 11)))).toBe("ok")
    expect(said(judgePresentedSession(confirmed(claims.iat - 10)))).toBe("EMAIL_NOT_VERIFIED email_confirmed_at")
    expect(said(judgeEmailSession(confirmed(claims.iat - 10)))).toBe("ok")
    expect(isFirstConfirmed({}, { email_confirmed_at: iso(claims.iat) })).toBe(false)
  })

  test("has a session's access token for the app's own client", () => {
    const token = { session_id: "s-1", role: "authenticated" }
    const problem = (change: object) => sessionTokenProblem({ ...token, ...change }, client)
    expect(problem({})).toBeUndefined()
    expect(problem({ client_id: client.clientId })).toBeUndefined()
    expect(problem({ client_id: "another" })).toBe("client_id")
    expect(problem({ role: "service_role" })).toBe("role")
    expect(problem({ session_id: "" })).toBe("session_id")
    expect(problem({ session_id: undefined })).toBe("session_id")
    expect(problem({ session_id: "s".repeat(256) })).toBe("session_id")
  })
})

test.each<[string, unknown, number | null]>([
  ["the newest of its methods", [{ timestamp: nowSeconds - 90 }, { timestamp: nowSeconds - 5 }], nowSeconds - 5],
  ["no method of the future", [{ timestamp: nowSeconds + 31 }], null],
  ["no method without a time", [null, "otp", { method: "otp" }, { timestamp: "5" }], null],
  ["nothing that is no list", { timestamp: nowSeconds }, null],
])("a session is as old as %s", (_, amr, seconds) => {
  const judgment = judgeEmailSession(presented({ amr }))
  const authTimeMs = seconds === null ? null : seconds * 1_000
  expect(judgment).toMatchObject({ is: "ok", vouched: { authTimeMs } })
})

test.each([
  [undefined, null],
  [null, null],
  ["Ada", null],
  [{ full_name: "Ada Lovelace", name: "Ada" }, "Ada Lovelace"],
  [{ full_name: "", name: "Ada" }, "Ada"],
  [{ full_name: "", name: "" }, null],
])("the metadata %j gives the name %j", (user_metadata, name) => {
  expect(judgeEmailSession(presented({}, { user_metadata }))).toMatchObject({ is: "ok", vouched: { name } })
})
