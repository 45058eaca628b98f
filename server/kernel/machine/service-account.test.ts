import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Reason } from "../errors.ts"
import { newId } from "../ids.ts"
import { serviceAccount, serviceKey, serviceSecret } from "../testing/machine-records.ts"
import { app as anApp } from "../testing/records.ts"
import type { ServiceSecret } from "./records.ts"
import { accountProblem, mayHaveCredential, planKey, planRotation, planSecret, secretState } from "./service-account.ts"

const day = 86_400_000
const nowMs = 10 * day
const secret = (change: Partial<ServiceSecret> = {}): ServiceSecret => ({ ...serviceSecret, ...change })
const tenantId = newId("ten", 1, new Uint8Array(10))
const live = secret()
const expired = secret({ expiresAtMs: nowMs })
const revoked = secret({ revokedAtMs: 1 })

test.each<[string, ServiceSecret, number, string]>([
  ["a secret serves until just before its expiry", live, live.expiresAtMs - 1, "ACTIVE"],
  ["a secret expires at its expiry, not after", live, live.expiresAtMs, "EXPIRED"],
  ["a revoked secret is revoked", revoked, nowMs, "REVOKED"],
  ["a secret that was revoked when its time was over had expired", secret({ revokedAtMs: 1e15 }), 1e15, "EXPIRED"],
])("%s", (_, of, atMs, state) => {
  expect(secretState(of, atMs)).toBe(state)
})

describe("a new account", () => {
  const app = {
    ...anApp,
    scopes: [...anApp.scopes, { key: "mail.send", audience: "svc-mail", isDefault: false }],
  }
  const problem = (change: object, makerScopes: readonly string[] = ["auth.service_accounts.write"]) =>
    accountProblem({ ...serviceAccount, ...change }, { app, authAudience: "auth", makerScopes: new Set(makerScopes) })

  test("may own and call audiences of its app, and may call the auth service", () => {
    expect(problem({})).toBeUndefined()
    expect(problem({ ownedAudiences: ["svc-notes"], allowedAudiences: ["svc-notes", "auth"] })).toBeUndefined()
    expect(problem({ tenantId, ownedAudiences: [] })).toBeUndefined()
    expect(problem({ ownedAudiences: [], allowedAudiences: [], scopes: [], defaultScopes: [] })).toBeUndefined()
  })

  test.each<[string, object, Reason, string]>([
    ["own an audience of another app", { ownedAudiences: ["svc-mail"] }, "AUDIENCE_NOT_REGISTERED", "owned_audiences"],
    [
      "own what the whole app uses, for a tenant",
      { tenantId, ownedAudiences: ["svc-notes"] },
      "INVALID_FIELD",
      "owned_audiences",
    ],
    ["own the auth service", { ownedAudiences: ["auth"] }, "AUDIENCE_NOT_REGISTERED", "owned_audiences"],
    ["call another app", { allowedAudiences: ["svc-mail"] }, "AUDIENCE_NOT_REGISTERED", "allowed_audiences"],
    ["hold a scope that does not exist", { scopes: ["notes.read", "notes.fly"] }, "INVALID_FIELD", "scopes"],
    ["hold a scope for what it may not call", { allowedAudiences: ["auth"] }, "INVALID_FIELD", "scopes"],
    ["hold a scope of another app's audience", { scopes: ["notes.read", "mail.send"] }, "INVALID_FIELD", "scopes"],
    ["default to more than it may hold", { defaultScopes: ["notes.write"] }, "INVALID_FIELD", "default_scopes"],
  ])("may not %s", (_, change, reason, field) => {
    expect(problem(change)).toEqual({ reason, field })
  })

  test("gets no scope of the auth service that its creator lacks", () => {
    const asked = { allowedAudiences: ["auth"], scopes: ["auth.introspect"], defaultScopes: [] }
    expect(problem(asked)).toEqual({ reason: "SCOPE_NOT_GRANTED", field: "scopes" })
    expect(problem(asked, ["auth.introspect"])).toBeUndefined()
  })

  test.each<[string, { key: string; audience: string }]>([
    ["a scope of the auth service by another name", { key: "introspect", audience: "auth" }],
    ["a name of the auth service for another audience", { key: "auth.introspect", audience: "svc-notes" }],
  ])("gets no %s without its maker, either", (_, scope) => {
    const asked = { ...serviceAccount, allowedAudiences: [scope.audience], scopes: [scope.key], defaultScopes: [] }
    const grounds = { app: { ...anApp, scopes: [{ ...scope, isDefault: false }] }, authAudience: "auth" }
    const refused = { reason: "SCOPE_NOT_GRANTED", field: "scopes" }
    expect(accountProblem(asked, { ...grounds, makerScopes: new Set(["other"]) })).toEqual(refused)
    expect(accountProblem(asked, { ...grounds, makerScopes: new Set([scope.key]) })).toBeUndefined()
  })

  test("cannot own the auth service's audience, even in an app that lists it", () => {
    const grounds = {
      app: { ...anApp, audiences: ["svc-notes", "auth"] },
      authAudience: "auth",
      makerScopes: new Set(""),
    }
    const of = (audience: string) =>
      accountProblem({ ...serviceAccount, ownedAudiences: [audience], scopes: [], defaultScopes: [] }, grounds)
    expect(of("svc-notes")).toBeUndefined()
    expect(of("auth")).toEqual({ reason: "AUDIENCE_NOT_REGISTERED", field: "owned_audiences" })
  })
})

test("a credential requires each scope of the auth service that the account has", () => {
  const scopes = ["notes.read", "auth.introspect", "auth.delegation.write"]
  const may = (...maker: string[]) => mayHaveCredential({ scopes }, new Set(maker))
  expect([may(), may("auth.introspect"), may("auth.introspect", "auth.delegation.write")]).toEqual([false, false, true])
})

describe("a secret", () => {
  test("lives 180 days or the requested time, to the millisecond", () => {
    expect(planSecret([], 0, nowMs)).toEqual({ expiresAtMs: nowMs + 180 * day })
    expect(planSecret([live, expired, revoked], 1, nowMs)).toEqual({ expiresAtMs: nowMs + day })
  })

  test("is at most the second live one", () => {
    expect(planSecret([live, live], 0, nowMs)).toBeUndefined()
  })

  test.each([366, -1, 0.5])("never lives %d days", (lifeDays) => {
    expect(() => planSecret([], lifeDays, nowMs)).toThrow(RangeError)
  })
})

describe("a rotation", () => {
  test("keeps the old one valid for a day or the requested overlap", () => {
    const usual = planRotation([live, expired, revoked], { lifeDays: 0, overlap: undefined }, nowMs)
    expect(usual).toEqual({ expiresAtMs: nowMs + 180 * day, replaced: [{ secret: live, expiresAtMs: nowMs + day }] })
    const long = planRotation([live], { lifeDays: 0, overlap: 7 * day }, nowMs)
    expect(long?.replaced[0]?.expiresAtMs).toBe(nowMs + 7 * day)
  })

  test("never prolongs one that expires earlier", () => {
    const short = secret({ expiresAtMs: nowMs + 5 })
    expect(planRotation([short], { lifeDays: 0, overlap: day }, nowMs)?.replaced).toEqual([
      { secret: short, expiresAtMs: nowMs + 5 },
    ])
  })

  test("without an overlap ends every live one; with an overlap there may be only one", () => {
    expect(planRotation([live, live], { lifeDays: 0, overlap: 1 }, nowMs)).toBeUndefined()
    expect(planRotation([live, live], { lifeDays: 0, overlap: 0 }, nowMs)?.replaced).toEqual([
      { secret: live, expiresAtMs: nowMs },
      { secret: live, expiresAtMs: nowMs },
    ])
  })

  test.each([-1, 7 * day + 1, Number.NaN])("has no overlap of %d ms", (overlap) => {
    expect(() => planRotation([live], { lifeDays: 0, overlap }, nowMs)).toThrow(RangeError)
  })
})

test("for random sequences, at most two secrets are live and none is prolonged", () => {
  const step = fc.record({
    is: fc.constantFrom("add", "rotate", "revoke"),
    overlap: fc.constantFrom(undefined, 0, 1, day, 7 * day),
    lifeDays: fc.constantFrom(0, 1, 365),
    passMs: fc.constantFrom(0, 1, day, 8 * day, 200 * day),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      let secrets: ServiceSecret[] = []
      let atMs = nowMs
      for (const { is, overlap, lifeDays, passMs } of steps) {
        atMs += passMs
        if (is === "revoke") secrets = secrets.map((one, i) => (i === 0 ? { ...one, revokedAtMs: atMs } : one))
        const rotated = is === "rotate" ? planRotation(secrets, { lifeDays, overlap }, atMs) : undefined
        for (const { secret: old, expiresAtMs } of rotated?.replaced ?? []) {
          expect(expiresAtMs).toBeLessThanOrEqual(old.expiresAtMs)
          secrets = secrets.map((one) => (one === old ? { ...one, expiresAtMs } : one))
        }
        const added = is === "add" ? planSecret(secrets, lifeDays, atMs) : rotated
        if (added !== undefined) secrets.push(secret({ expiresAtMs: added.expiresAtMs }))
        expect(secrets.filter((one) => secretState(one, atMs) === "ACTIVE").length).toBeLessThanOrEqual(2)
      }
    }),
  )
})

describe("a key", () => {
  const key = (kid: string, revokedAtMs: number | null = null) => ({ ...serviceKey, kid, revokedAtMs })
  test.each<[string, Parameters<typeof planKey>[0], string]>([
    ["is added", [], "add"],
    ["is there", [key("k")], "there"],
    ["that was revoked stays revoked", [key("k", 1)], "revoked"],
    ["is the fourth at most", [key("a"), key("b"), key("c"), key("d")], "limit"],
    ["takes the place of a revoked one", [key("a"), key("b"), key("c"), key("d", 1)], "add"],
  ])("%s", (_, keys, expected) => {
    expect(planKey(keys, "k")).toBe(expected)
  })
})
