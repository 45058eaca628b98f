import { describe, expect, test } from "vitest"
import type { ProviderClient } from "../records.ts"
import { account, providerClient } from "../testing/records.ts"
import { addressees, applyNotification, judgeNotification } from "./provider-notification.ts"

const now = 1_800_000_000
const client: ProviderClient = {
  ...providerClient,
  provider: "IDP_B",
  issuers: ["https://idp-b.example", "https://account.idp-b.example"],
  canonicalIssuer: "https://idp-b.example",
  audiences: ["com.example.notes"],
  providerTenant: "TEAM000001",
}
const event = { type: "consent-revoked", sub: "ada", event_time: now * 1000 }
const claims = {
  iss: "https://idp-b.example",
  aud: "com.example.notes",
  iat: now - 10,
  exp: now + 86_390,
  jti: "one",
  events: JSON.stringify(event),
}
const judge = (change: Record<string, unknown>) => judgeNotification({ ...claims, ...change }, client, now)
const eventWith = (change: Record<string, unknown>) => ({ events: JSON.stringify({ ...event, ...change }) })

describe("a notification", () => {
  test.each([
    ["consent-revoked", "CONSENT_REVOKED"],
    ["account-delete", "ACCOUNT_DELETED"],
    ["account-deleted", "ACCOUNT_DELETED"],
    ["email-disabled", "EMAIL_DISABLED"],
    ["email-enabled", "EMAIL_ENABLED"],
  ])("of %s means %s", (type, change) => {
    expect(judge(eventWith({ type }))).toMatchObject({ is: "ok", notification: { change } })
  })

  test("names the account under the stored issuer, whichever alias sent it", () => {
    expect(judge({ iss: "https://account.idp-b.example" })).toEqual({
      is: "ok",
      notification: {
        id: "one",
        issuer: "https://idp-b.example",
        providerTenant: "TEAM000001",
        subject: "ada",
        change: "CONSENT_REVOKED",
        expiresAtMs: (now - 10 + 86_401) * 1000,
      },
    })
  })

  test.each<[string, Record<string, unknown>]>([
    ["a day old", { iat: now - 86_400, exp: undefined }],
    ["30 s ahead", { iat: now + 30 }],
    ["without an expiry", { exp: undefined }],
    ["29 s after its expiry", { exp: now - 29 }],
    ["with the event's time in seconds", eventWith({ event_time: now })],
    ["with an email, which nobody reads", eventWith({ email: "eve@example.com", is_private_email: "true" })],
  ])("is accepted %s", (_, change) => {
    expect(judge(change).is).toBe("ok")
  })

  test.each<[string, Record<string, unknown>, string]>([
    ["of another issuer", { iss: "https://evil.example" }, "iss"],
    ["of no issuer", { iss: undefined }, "iss"],
    ["for another client", { aud: "com.example.other" }, "aud"],
    ["for a list of clients", { aud: ["com.example.notes"] }, "aud"],
    ["older than a day", { iat: now - 86_401, exp: undefined }, "iat"],
    ["from the future", { iat: now + 31 }, "iat"],
    ["of no time", { iat: undefined }, "iat"],
    ["that expired", { exp: now - 31 }, "exp"],
    ["30 s after its expiry", { exp: now - 30 }, "exp"],
    ["with an expiry in words", { exp: "never" }, "exp"],
    ["without an id", { jti: undefined }, "jti"],
    ["with an empty id", { jti: "" }, "jti"],
    ["with an id that no database keeps", { jti: "a\0b" }, "jti"],
    ["without an event", { events: undefined }, "events"],
    ["with an event that is no text", { events: event }, "events"],
    ["with an event as the one text of a list", { events: [JSON.stringify(event)] }, "events"],
    ["with an event that is no JSON", { events: "consent-revoked" }, "events"],
    ["with a list of events", { events: JSON.stringify([event]) }, "events"],
    ["with null", { events: "null" }, "events"],
    ["with a text", { events: '"consent-revoked"' }, "events"],
    ["of a type that nobody knows", eventWith({ type: "account-created" }), "events"],
    ["of a type in capitals", eventWith({ type: "CONSENT-REVOKED" }), "events"],
    ["of a type that every object has", eventWith({ type: "constructor" }), "events"],
    ["of a type that is a list", eventWith({ type: ["consent-revoked"] }), "events"],
    ["of nobody", eventWith({ sub: undefined }), "events.sub"],
    ["of an empty subject", eventWith({ sub: "" }), "events.sub"],
    ["of a subject that is a number", eventWith({ sub: 7 }), "events.sub"],
    ["of half a surrogate pair", { events: JSON.stringify(event).replace('"ada"', '"\\ud800"') }, "events.sub"],
    ["of no time of the event", eventWith({ event_time: undefined }), "events.event_time"],
    ["of the beginning of time", eventWith({ event_time: 0 }), "events.event_time"],
    ["of an event without end", { events: JSON.stringify(event).replace(/[0-9]{9,}/, "1e999") }, "events.event_time"],
    ["of a time of the event in words", eventWith({ event_time: "now" }), "events.event_time"],
  ])("is refused %s", (_, change, claim) => {
    expect(judge(change)).toEqual({ is: "refuse", claim })
  })

  test("ignores a subject outside the event", () => {
    expect(judge({ sub: "eve" })).toMatchObject({ notification: { subject: "ada" } })
    expect(judge({ sub: "eve", ...eventWith({ sub: undefined }) }).is).toBe("refuse")
  })
})

test.each<[string, Partial<ProviderClient>, unknown, boolean]>([
  ["its audience", {}, "com.example.notes", true],
  ["another audience", {}, "com.example.other", false],
  ["no audience", { audiences: [""] }, "", false],
  ["a list that holds its audience", {}, ["com.example.notes"], false],
  ["its audience, of another provider", { provider: "IDP_A" }, "com.example.notes", false],
  ["its audience, without a team", { providerTenant: null }, "com.example.notes", false],
])("a notification is for a client with %s", (_, change, aud, expected) => {
  expect(addressees([{ ...client, ...change }], aud).length === 1).toBe(expected)
})

describe("a notification about an account", () => {
  const sealed = { ...account, refreshTokenSealed: new Uint8Array(3) }

  test.each(["CONSENT_REVOKED", "ACCOUNT_DELETED"] as const)("of %s ends its sessions and its token", (change) => {
    const after = { ...sealed, status: "REVOKED", refreshTokenSealed: null }
    expect(applyNotification(sealed, change)).toEqual({ account: after, isEnded: true })
  })

  test.each(["REVOKED", "BLOCKED", "UNLINKED"] as const)("that is %s ends a token, and nothing twice", (status) => {
    const before = { ...sealed, status }
    const after = { ...before, refreshTokenSealed: null }
    expect(applyNotification(before, "CONSENT_REVOKED")).toEqual({ account: after, isEnded: false })
    expect(applyNotification(after, "CONSENT_REVOKED")).toBeUndefined()
  })

  test.each([
    ["EMAIL_DISABLED", false],
    ["EMAIL_ENABLED", true],
  ] as const)("of %s changes whether it accepts mail, once", (change, isContactable) => {
    const before = { ...sealed, isContactable: !isContactable }
    const after = { ...sealed, isContactable }
    expect(applyNotification(before, change)).toEqual({ account: after, isEnded: false })
    expect(applyNotification(after, change)).toBeUndefined()
  })
})
