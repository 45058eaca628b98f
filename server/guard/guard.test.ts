import type { Requirement } from "@signet/kernel/authz/requirement"
import type { Liveness, LivenessFacts } from "@signet/kernel/ports"
import { expect, test } from "vitest"
import { createGuard, type GuardOptions } from "./guard.ts"
import { createLocalKeySet } from "./key-set.ts"
import { createLiveness } from "./liveness.ts"
import { nodeTokenCrypto } from "./node/token-crypto.ts"
import { createIssuer, ids } from "./testing/issuer.ts"

const users: Requirement = { is: "kinds", of: ["USER"] }

const active: LivenessFacts = {
  principal: "ACTIVE",
  actor: undefined,
  identity: "ACTIVE",
  session: { status: "ACTIVE", idleExpiresAtMs: Infinity, absoluteExpiresAtMs: Infinity },
  membership: "ACTIVE",
  app: "ACTIVE",
  tenant: null,
  context: null,
  revoked: [],
  minimum: { principal: 0, policy: 0 },
  current: null,
}

function setUp(options: (clock: GuardOptions["clock"]) => Partial<GuardOptions> = () => ({})) {
  const issuer = createIssuer()
  const { issuer: iss, audience, appId, clock } = issuer
  const keySet = createLocalKeySet(issuer, nodeTokenCrypto)
  const guard = createGuard({ issuer: iss, audience, appId, clock, keySet, ...options(clock) })
  const call = async (header: string | null, requirement: Requirement = users) => {
    const decision = await guard.authorize(await guard.authenticate(header), requirement, {})
    return decision.allow ? "allow" : decision.reason
  }
  return { ...issuer, guard, call }
}

test("a token of ours is let in, by its own words alone", async () => {
  const { call, token } = setUp()
  expect(await call(`Bearer ${token()}`)).toBe("allow")
})

test.each([
  ["nothing", null, "NO_CREDENTIAL"],
  ["a personal access token", `Bearer sgpat_${"0".repeat(50)}`, "PAT_NOT_BEARER"],
  ["a refresh token", `Bearer sgrt_${"0".repeat(50)}`, "REFRESH_TOKEN_NOT_BEARER"],
  ["gibberish", "Bearer gibberish", "MALFORMED_CREDENTIAL"],
])("%s is not let in", async (_, header, reason) => {
  expect(await setUp().call(header)).toBe(reason)
})

test("a guard that asks nobody for permissions grants nobody any", async () => {
  const { call, guard, token } = setUp()
  const notes: Requirement = { is: "action", action: "notes.note.edit" }
  expect(await call(`Bearer ${token()}`, notes)).toBe("MISSING_PERMISSION")
  const caller = await guard.authenticate(`Bearer ${token()}`)
  if (typeof caller === "string") throw new Error(caller)
  await expect(guard.loadGrants(caller)).rejects.toThrow("requires the guard's option permissions")
})

test("liveness is asked at every call, for the token's own session", async () => {
  const questions: Parameters<Liveness["find"]>[0][] = []
  let facts = active
  const port: Liveness = {
    find: async (question) => {
      questions.push(question)
      return facts
    },
  }
  const { call, token, clock } = setUp((own) => ({ liveness: createLiveness(port, own) }))
  const header = `Bearer ${token()}`
  expect(await call(header)).toBe("allow")
  facts = { ...active, session: { status: "REVOKED", idleExpiresAtMs: Infinity, absoluteExpiresAtMs: Infinity } }
  expect(await call(header)).toBe("SESSION_REVOKED")
  const { jti } = JSON.parse(Buffer.from(header.split(".")[1] ?? "", "base64url").toString())
  expect(questions).toEqual(
    Array(2).fill({
      principalId: ids.principal,
      actorId: null,
      sessionId: ids.session,
      credentialId: null,
      tokenId: jti,
      appId: ids.app,
      tenantId: null,
      contextId: null,
      issuedAtMs: clock.nowMs(),
      nowMs: clock.nowMs(),
    }),
  )
})

test("liveness is not asked for public methods, body credentials, or without a valid token", async () => {
  let asked = 0
  const { call, token } = setUp(() => ({
    liveness: async () => {
      asked++
      throw new Error("not asked")
    },
  }))
  expect(await call(`Bearer ${token()}`, { is: "public" })).toBe("allow")
  expect(await call(`Bearer ${token()}`, { is: "bodyCredential" })).toBe("allow")
  expect(await call("Bearer x.y.z")).toBe("MALFORMED_CREDENTIAL")
  expect(asked).toBe(0)
})

test("when liveness cannot be had, nobody is let in, and nobody is told to sign in again", async () => {
  const { call, token } = setUp(() => ({ liveness: () => Promise.reject(new Error("database down")) }))
  expect(await call(`Bearer ${token()}`)).toBe("UNAVAILABLE")
})

test("stale facts send the question to the issuer, whose answer counts", async () => {
  const stale: Requirement = { ...users, freshness: { maxStalenessMs: 10_000, onStale: "INTROSPECT" } }
  let introspected: LivenessFacts | Error = active
  const { call, token, pass } = setUp((clock) => ({
    introspect: async () => {
      if (introspected instanceof Error) throw introspected
      return { facts: introspected, asOfMs: clock.nowMs() }
    },
  }))
  const header = `Bearer ${token()}`
  pass(10_001)
  expect(await call(header, stale)).toBe("allow")
  introspected = { ...active, principal: "LOCKED" }
  expect(await call(header, stale)).toBe("PRINCIPAL_LOCKED")
  introspected = new Error("issuer down")
  expect(await call(header, stale)).toBe("REVOCATION_STATE_STALE")
  expect(await call(header, { ...stale, freshness: { maxStalenessMs: 10_000, onStale: "DENY" } })).toBe(
    "REVOCATION_STATE_STALE",
  )
  expect(await call(header, { ...stale, freshness: { maxStalenessMs: 10_000, onStale: "ALLOW" } })).toBe("allow")
})

test("without an introspection hook, stale is refused", async () => {
  const stale: Requirement = { ...users, freshness: { maxStalenessMs: 10_000, onStale: "INTROSPECT" } }
  const { call, token, pass } = setUp()
  const header = `Bearer ${token()}`
  expect(await call(header, stale)).toBe("allow")
  pass(10_001)
  expect(await call(header, stale)).toBe("REVOCATION_STATE_STALE")
  expect(await call(header)).toBe("allow")
})

test("a fault while verifying lets nobody in", async () => {
  const { call, token } = setUp(() => ({ keySet: { find: () => Promise.reject(new Error("fault")) } }))
  expect(await call(`Bearer ${token()}`)).toBe("INTERNAL")
})
