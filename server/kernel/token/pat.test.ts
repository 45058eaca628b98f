import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import { scopesHeld } from "../authz/scopes.ts"
import type { Reason } from "../errors.ts"
import { newId } from "../ids.ts"
import type { Pat } from "../machine/records.ts"
import { pat } from "../testing/machine-records.ts"
import { app, identity, membership, principal } from "../testing/records.ts"
import { decidePatExchange, type PatExchangeRequest, type PatFacts, patState, planPat } from "./pat.ts"

const day = 86_400_000
const nowMs = 2_000
const authAudience = "auth"

describe("a new personal access token", () => {
  const asked = { audiences: ["svc-notes"], scopes: ["notes.read"], lifeDays: 0 }
  const grounds = { app, membership, authAudience, nowMs }

  test("is bound to the request, for 90 days or the requested time", () => {
    const bound = { allowedAudiences: ["svc-notes"], scopes: ["notes.read"] }
    expect(planPat(asked, grounds)).toEqual({ ...bound, expiresAtMs: nowMs + 90 * day })
    expect(planPat({ ...asked, lifeDays: 365 }, grounds)).toEqual({ ...bound, expiresAtMs: nowMs + 365 * day })
  })

  test.each([366, -1, 1.5, Number.NaN])("never lives %d days", (lifeDays) => {
    expect(() => planPat({ ...asked, lifeDays }, grounds)).toThrow(RangeError)
  })

  test.each<[string, Partial<typeof asked>, Partial<typeof grounds>, Reason]>([
    ["an audience that is not the app's", { audiences: ["svc-notes", "svc-mail"] }, {}, "AUDIENCE_NOT_REGISTERED"],
    ["a scope that its maker does not hold", { scopes: ["notes.read", "notes.admin"] }, {}, "SCOPE_NOT_GRANTED"],
    ["a scope that does not exist", { scopes: ["mail.read"] }, {}, "SCOPE_NOT_GRANTED"],
    ["a scope of another audience", { audiences: ["auth"] }, {}, "SCOPE_NOT_GRANTED"],
    ["no scope", { scopes: [] }, {}, "SCOPE_NOT_GRANTED"],
    ["a maker who is suspended", {}, { membership: { ...membership, status: "SUSPENDED" } }, "SCOPE_NOT_GRANTED"],
  ])("is not made with %s", (_, change, ground, reason) => {
    expect(planPat({ ...asked, ...change }, { ...grounds, ...ground })).toBe(reason)
  })

  test("may have a scope of the membership", () => {
    const admin = { ...membership, scopes: ["notes.admin"] }
    expect(planPat({ ...asked, scopes: ["notes.admin"] }, { ...grounds, membership: admin })).toMatchObject({
      scopes: ["notes.admin"],
    })
  })
})

test.each<[string, Partial<Pat>, number, string]>([
  ["a token serves until just before its expiry", {}, pat.expiresAtMs - 1, "ACTIVE"],
  ["a token expires at its expiry, not after", {}, pat.expiresAtMs, "EXPIRED"],
  ["a revoked token is revoked", { revokedAtMs: 1, revokeReason: "REVOKED" }, nowMs, "REVOKED"],
  ["a token that ended with its owner is revoked", { revokedAtMs: 1, revokeReason: "PRINCIPAL_ENDED" }, 2, "REVOKED"],
  ["a found token is leaked, also when its time is over", { revokedAtMs: 1, revokeReason: "LEAKED" }, 1e15, "LEAKED"],
  [
    "a token that was revoked when its time was over had expired",
    { revokedAtMs: pat.expiresAtMs, revokeReason: "REVOKED" },
    1e15,
    "EXPIRED",
  ],
])("%s", (_, change, atMs, state) => {
  expect(patState({ ...pat, ...change }, atMs)).toBe(state)
})

const facts: PatFacts = { pat, principal, identity, app, membership, placeMembership: membership }
const any: PatExchangeRequest = { audience: "", scopes: [], contextId: null }
const context = newId("ctx", 1, new Uint8Array(10))
const other = newId("ctx", 2, new Uint8Array(10))
const decide = (change: Partial<PatFacts>, asked: Partial<PatExchangeRequest> = {}, atMs = nowMs) =>
  decidePatExchange({ ...facts, ...change }, { ...any, ...asked }, { authAudience, nowMs: atMs })

describe("a personal access token is exchanged", () => {
  test("for all that it allows by default", () => {
    expect(decide({})).toEqual({
      is: "grant",
      pat,
      audience: "svc-notes",
      scopes: ["notes.read", "notes.write"],
      contextId: null,
    })
  })

  test("for fewer scopes, and only for its own", () => {
    expect(decide({}, { scopes: ["notes.write"] })).toMatchObject({ scopes: ["notes.write"] })
    expect(decide({}, { scopes: ["notes.admin", "notes.read"] })).toMatchObject({ scopes: ["notes.read"] })
  })

  test("for no scope that its owner has lost", () => {
    const scopes = app.scopes.map((scope) => ({ ...scope, isDefault: scope.key === "notes.read" }))
    expect(decide({ app: { ...app, scopes } })).toMatchObject({ scopes: ["notes.read"] })
    const admin = { ...pat, scopes: ["notes.admin"] }
    expect(decide({ pat: admin })).toMatchObject({ reason: "SCOPE_NOT_GRANTED" })
    expect(decide({ pat: admin, placeMembership: { ...membership, scopes: ["notes.admin"] } })).toMatchObject({
      scopes: ["notes.admin"],
    })
  })

  test("for the auth service, which no app registers", () => {
    const scopes = [{ key: "auth.self", audience: authAudience, isDefault: true }]
    const own = { ...pat, allowedAudiences: [authAudience], scopes: ["auth.self"] }
    expect(decide({ pat: own, app: { ...app, audiences: [], scopes } })).toMatchObject({ audience: authAudience })
  })

  test("for any context if it is bound to none, else only for its own", () => {
    expect(decide({}, { contextId: context })).toMatchObject({ is: "grant", contextId: context })
    const bound = { ...pat, contextId: context }
    expect(decide({ pat: bound })).toMatchObject({ is: "grant", contextId: context })
    expect(decide({ pat: bound }, { contextId: context })).toMatchObject({ is: "grant", contextId: context })
    expect(decide({ pat: bound }, { contextId: other })).toMatchObject({ reason: "CONTEXT_MISMATCH" })
  })

  test.each<[string, Partial<PatFacts>, Partial<PatExchangeRequest>, number, Reason]>([
    ["there is none", { pat: undefined }, {}, nowMs, "PAT_INVALID"],
    ["it has expired", {}, {}, pat.expiresAtMs, "PAT_INVALID"],
    ["it was revoked", { pat: { ...pat, revokedAtMs: 1, revokeReason: "REVOKED" } }, {}, nowMs, "PAT_INVALID"],
    ["it leaked", { pat: { ...pat, revokedAtMs: 1, revokeReason: "LEAKED" } }, {}, nowMs, "PAT_INVALID"],
    ["its owner is suspended", { principal: { status: "SUSPENDED" } }, {}, nowMs, "PRINCIPAL_INACTIVE"],
    ["its owner is gone", { principal: undefined }, {}, nowMs, "PRINCIPAL_INACTIVE"],
    ["its owner leaves", { identity: { status: "DELETION_PENDING" } }, {}, nowMs, "IDENTITY_INACTIVE"],
    ["the app is suspended", { app: { ...app, status: "SUSPENDED" } }, {}, nowMs, "TENANT_SUSPENDED"],
    ["its owner left the app", { membership: undefined }, {}, nowMs, "MEMBERSHIP_INACTIVE"],
    ["its owner left the tenant", { placeMembership: undefined }, {}, nowMs, "MEMBERSHIP_INACTIVE"],
    ["it does not allow the audience", {}, { audience: "auth" }, nowMs, "AUDIENCE_NOT_ALLOWED"],
    ["the audience is no longer the app's", { app: { ...app, audiences: [] } }, {}, nowMs, "AUDIENCE_NOT_ALLOWED"],
    [
      "it allows two audiences and none is named",
      { pat: { ...pat, allowedAudiences: ["svc-notes", "auth"] } },
      {},
      nowMs,
      "INVALID_FIELD",
    ],
    ["nothing of what is asked for is its own", {}, { scopes: ["notes.admin"] }, nowMs, "SCOPE_NOT_GRANTED"],
  ])("not when %s", (_, change, asked, atMs, reason) => {
    expect(decide(change, asked, atMs)).toMatchObject({ is: "refuse", reason })
  })
})

test("a granted scope is always in the token, in the request, and held by the owner now", () => {
  const names = ["a.read", "a.write", "b.read", "b.write"]
  const audiences = ["svc-a", "svc-b", "auth"]
  const some = fc.subarray(names)
  let granted = 0
  fc.assert(
    fc.property(
      fc.record({
        patScopes: some,
        patAudiences: fc.subarray(audiences, { minLength: 1 }),
        asked: some,
        audience: fc.constantFrom("", ...audiences),
        named: some,
        defaults: some,
        registered: fc.subarray(audiences),
        status: fc.constantFrom("ACTIVE" as const, "SUSPENDED" as const),
        atMs: fc.constantFrom(0, pat.expiresAtMs - 1, pat.expiresAtMs),
      }),
      (of) => {
        const scopes = names.map((key) => ({
          key,
          audience: `svc-${key.charAt(0)}`,
          isDefault: of.defaults.includes(key),
        }))
        const theApp = { ...app, scopes, audiences: of.registered }
        const member = { ...membership, scopes: of.named, status: of.status }
        const thePat = { ...pat, scopes: of.patScopes, allowedAudiences: of.patAudiences }
        const known = { pat: thePat, app: theApp, membership: member, placeMembership: member }
        const result = decide(known, { audience: of.audience, scopes: of.asked }, of.atMs)
        if (result.is === "refuse") return
        granted++
        const held = scopesHeld(theApp, member, result.audience)
        expect(of.atMs).toBeLessThan(pat.expiresAtMs)
        expect(of.patAudiences).toContain(result.audience)
        if (of.audience !== "") expect(result.audience).toBe(of.audience)
        expect(result.scopes.length).toBeGreaterThan(0)
        for (const scope of result.scopes) {
          expect(of.patScopes).toContain(scope)
          expect(held).toContain(scope)
          if (of.asked.length > 0) expect(of.asked).toContain(scope)
        }
      },
    ),
    { numRuns: effort(1_000, 20_000, 100_000) },
  )
  // A property that never grants proves nothing.
  expect(granted).toBeGreaterThan(10)
})
