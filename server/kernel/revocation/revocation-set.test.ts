import { describe, expect, test } from "vitest"
import type { AuthContext } from "../authz/context.ts"
import { displacement, inactivity } from "../authz/liveness.ts"
import { delegated, service, user } from "../authz/testing.ts"
import { newId } from "../ids.ts"
import type { RevocationEntry } from "./entry.ts"
import { createRevocationSet } from "./revocation-set.ts"

const nowMs = user.issuedAtMs + 60_000
const entry = (change: Pick<RevocationEntry, "kind"> & Partial<RevocationEntry>): RevocationEntry => ({
  key: "nobody",
  expiresAtMs: nowMs + 900_000,
  ...change,
})

function reasonOf(context: AuthContext, entries: readonly RevocationEntry[], atMs = nowMs): string {
  const set = createRevocationSet(100)
  set.add(entries, user.issuedAtMs)
  const facts = set.factsOf(context, atMs)
  return inactivity(context, facts, atMs) ?? displacement(context, facts) ?? "none"
}

const contextId = newId("ctx", 1, new Uint8Array(10))
const actor = delegated.actor?.id ?? "nobody"
const origin = delegated.delegation?.originSessionId ?? "nobody"

describe("revoked credentials are refused", () => {
  test.each<[string, AuthContext, Parameters<typeof entry>[0], string]>([
    ["a token", user, { kind: "TOKEN", key: user.tokenId ?? "" }, "TOKEN_REVOKED"],
    ["a session", user, { kind: "SESSION", key: user.sessionId ?? "" }, "SESSION_REVOKED"],
    ["the session that a token came of", delegated, { kind: "SESSION", key: origin }, "SESSION_REVOKED"],
    ["a credential", { ...service, credentialId: "scr_1" }, { kind: "CREDENTIAL", key: "scr_1" }, "CREDENTIAL_REVOKED"],
    ["a principal", user, { kind: "PRINCIPAL", key: user.principal.id }, "PRINCIPAL_INACTIVE"],
    ["a service", service, { kind: "PRINCIPAL", key: service.principal.id }, "PRINCIPAL_INACTIVE"],
    ["who acts", delegated, { kind: "PRINCIPAL", key: actor }, "PRINCIPAL_INACTIVE"],
    ["an app", user, { kind: "APP", key: user.appId }, "TENANT_SUSPENDED"],
    ["a tenant", user, { kind: "TENANT", key: user.tenantId ?? "" }, "TENANT_SUSPENDED"],
    ["a context", { ...user, contextId }, { kind: "CONTEXT", key: contextId }, "TENANT_SUSPENDED"],
    [
      "a version",
      user,
      { kind: "AUTHORITY", key: user.principal.id, appId: user.appId, minVersion: 1 },
      "PERMISSIONS_STALE",
    ],
    ["a policy", user, { kind: "POLICY", key: user.appId, minVersion: 1 }, "PERMISSIONS_STALE"],
    ["everything", user, { kind: "ISSUER_EPOCH", key: "all", issuedBeforeMs: nowMs }, "TOKEN_REVOKED"],
  ])("%s", (_, context, revoked, reason) => {
    expect(reasonOf(context, [])).toBe("none")
    expect(reasonOf(context, [entry(revoked)])).toBe(reason)
    expect(reasonOf(context, [entry({ ...revoked, key: "somebody else's" })])).toBe("none")
    // For the accepted clock skew, and no longer.
    const ends = { ...revoked, expiresAtMs: nowMs }
    expect(reasonOf(context, [entry(ends)], nowMs + 29_999)).toBe(reason)
    expect(reasonOf(context, [entry(ends)], nowMs + 30_000)).toBe("none")
  })
})

describe("a lifted revocation", () => {
  const { issuedAtMs } = user
  test.each(["PRINCIPAL", "APP", "TENANT"] as const)(
    "of %s: earlier tokens stay rejected, later ones are accepted",
    (kind) => {
      const keys = { PRINCIPAL: user.principal.id, APP: user.appId, TENANT: user.tenantId ?? "" }
      const lifted = (issuedBeforeMs: number) => [entry({ kind, key: keys[kind], issuedBeforeMs })]
      expect(reasonOf(user, lifted(issuedAtMs + 1))).toBe("TOKEN_REVOKED")
      expect(reasonOf(user, lifted(issuedAtMs))).toBe("none")
      // The newer entry replaces the older one.
      expect(reasonOf(user, [entry({ kind, key: keys[kind] }), ...lifted(issuedAtMs)])).toBe("none")
      expect(reasonOf(user, [...lifted(issuedAtMs), entry({ kind, key: keys[kind] })])).not.toBe("none")
    },
  )
})

test("an AUTHORITY entry applies to its app only", () => {
  const other = entry({ kind: "AUTHORITY", key: user.principal.id, appId: "app_other", minVersion: 9 })
  expect(reasonOf(user, [other])).toBe("none")
  const own = entry({ kind: "AUTHORITY", key: user.principal.id, appId: user.appId, minVersion: 9 })
  expect(reasonOf(user, [own, other])).toBe("PERMISSIONS_STALE")
})

test("a key is revoked until the entry expires", () => {
  const set = createRevocationSet(10)
  set.add([entry({ kind: "KEY", key: "kid-1", expiresAtMs: nowMs })], nowMs)
  expect(set.isKeyRevoked("kid-1", nowMs)).toBe(true)
  expect(set.isKeyRevoked("kid-2", nowMs)).toBe(false)
  expect(set.isKeyRevoked("kid-1", nowMs + 30_000)).toBe(false)
})

test("a set at its capacity reports it, keeps its entries, and accepts others once entries have expired", () => {
  const set = createRevocationSet(3)
  const tokens = (from: number, count: number, expiresAtMs: number) =>
    Array.from({ length: count }, (_, i) => entry({ kind: "TOKEN", key: `jti-${from + i}`, expiresAtMs }))
  expect(set.add(tokens(0, 3, nowMs), nowMs)).toBe(true)
  expect(set.add(tokens(0, 3, nowMs + 1), nowMs)).toBe(true)
  expect(set.add(tokens(9, 1, nowMs + 90_000), nowMs)).toBe(false)
  expect(set.size).toBe(3)
  expect(set.add(tokens(9, 1, nowMs + 90_000), nowMs + 31_000)).toBe(true)
  expect(set.size).toBe(1)
  expect(set.add(tokens(20, 5, nowMs), nowMs + 31_000)).toBe(true)
  expect(set.size).toBe(1)
})

test("a set that was swept a moment ago drops expired entries before it reports its capacity", () => {
  const set = createRevocationSet(2)
  const token = (key: string, expiresAtMs: number) => entry({ kind: "TOKEN", key, expiresAtMs })
  expect(set.add([token("a", nowMs - 29_000), token("b", nowMs - 29_000)], nowMs)).toBe(true)
  expect(set.add([token("c", nowMs + 90_000)], nowMs + 999)).toBe(false)
  expect(set.add([token("c", nowMs + 90_000)], nowMs + 1_000)).toBe(true)
  expect(set.size).toBe(1)
})

test("expired entries are dropped at the first addition after ten seconds", () => {
  const set = createRevocationSet(10)
  const token = (key: string, expiresAtMs: number) => entry({ kind: "TOKEN", key, expiresAtMs })
  set.add([token("a", nowMs - 29_000)], nowMs)
  set.add([token("b", nowMs + 90_000)], nowMs + 10_000)
  expect(set.size).toBe(2)
  set.add([token("c", nowMs + 90_000)], nowMs + 10_001)
  expect(set.size).toBe(2)
})

test("a kind and key are revoked for what was issued before, or for everything", () => {
  const set = createRevocationSet(10)
  const before = { kind: "PRINCIPAL", key: "prn_2", issuedBeforeMs: nowMs } as const
  set.add([entry({ kind: "CREDENTIAL", key: "kid" }), entry(before)], nowMs)
  const isRevoked = (kind: "CREDENTIAL" | "PRINCIPAL", key: string, issuedAtMs = nowMs) =>
    set.isRevoked({ kind, key, issuedAtMs }, nowMs)
  expect([isRevoked("CREDENTIAL", "kid"), isRevoked("CREDENTIAL", "other"), isRevoked("PRINCIPAL", "kid")]).toEqual([
    true,
    false,
    false,
  ])
  expect([isRevoked("PRINCIPAL", "prn_2", nowMs - 1), isRevoked("PRINCIPAL", "prn_2")]).toEqual([true, false])
})

test("a caller without a tenant or context has no status of one", () => {
  const facts = createRevocationSet(1).factsOf({ ...user, tenantId: null, contextId: null }, nowMs)
  expect([facts.tenant, facts.context]).toEqual([null, null])
  expect(createRevocationSet(1).factsOf({ ...user, contextId }, nowMs)).toMatchObject({ context: "ACTIVE" })
})
