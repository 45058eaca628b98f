import { notLoaded } from "@signet/kernel/authz/context"
import type { PermissionSnapshot } from "@signet/kernel/authz/effective"
import type { Liveness, LivenessFacts } from "@signet/kernel/authz/liveness-ports"
import type { Requirement } from "@signet/kernel/authz/requirement"
import { expect, test } from "vitest"
import { createGuard, type GuardOptions } from "./guard.ts"
import { createLocalKeySet } from "./key-set.ts"
import { nodeTokenCrypto } from "./node/token-crypto.ts"
import type { FindPermissions } from "./permissions/permissions.ts"
import { createLiveness } from "./revocation/liveness.ts"
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

test("a valid token of the app is accepted on its claims alone", async () => {
  const { call, token } = setUp()
  expect(await call(`Bearer ${token()}`)).toBe("allow")
})

test.each([
  ["nothing", null, "NO_CREDENTIAL"],
  ["a personal access token", `Bearer sgpat_${"0".repeat(50)}`, "PAT_NOT_BEARER"],
  ["a refresh token", `Bearer sgrt_${"0".repeat(50)}`, "REFRESH_TOKEN_NOT_BEARER"],
  ["gibberish", "Bearer gibberish", "MALFORMED_CREDENTIAL"],
])("%s is refused as a credential", async (_, header, reason) => {
  expect(await setUp().call(header)).toBe(reason)
})

test("a guard without a source of permissions grants none", async () => {
  const { call, guard, token } = setUp()
  const notes: Requirement = { is: "action", action: "notes.note.edit" }
  expect(await call(`Bearer ${token()}`, notes)).toBe("MISSING_PERMISSION")
  const caller = await guard.authenticate(`Bearer ${token()}`)
  if (typeof caller === "string") throw new Error(caller)
  await expect(guard.loadGrants(caller)).rejects.toThrow("requires the guard's option permissions")
})

test("permissions are loaded only for requirements that need them", async () => {
  let asked = 0
  const permissions: FindPermissions = async () => {
    asked++
    throw new Error("no connection")
  }
  const { call, token } = setUp(() => ({ permissions }))
  expect(await call(`Bearer ${token()}`, { is: "scope", scope: "notes.fly" })).toBe("MISSING_SCOPE")
  expect(asked).toBe(0)
  const scope: Requirement = { is: "scope", scope: "notes.fly" }
  for (const part of [
    { is: "action", action: "notes.note.edit" },
    { is: "role", role: "editor" },
  ] as const) {
    expect(await call(`Bearer ${token()}`, { is: "anyOf", of: [scope, part] })).toBe("UNAVAILABLE")
  }
  expect(asked).toBe(2)
})

test("liveness is checked at every call, for the token's own session", async () => {
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

test("liveness is not checked for public methods, body credentials, or without a valid token", async () => {
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

test("if liveness is unknown, calls are UNAVAILABLE, without a prompt to sign in again", async () => {
  const { call, token } = setUp(() => ({ liveness: () => Promise.reject(new Error("database down")) }))
  expect(await call(`Bearer ${token()}`)).toBe("UNAVAILABLE")
})

test("stale facts cause an introspection, whose answer decides", async () => {
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

test("without introspection, stale facts are refused", async () => {
  const stale: Requirement = { ...users, freshness: { maxStalenessMs: 10_000, onStale: "INTROSPECT" } }
  const { call, token, pass } = setUp()
  const header = `Bearer ${token()}`
  expect(await call(header, stale)).toBe("allow")
  pass(10_001)
  expect(await call(header, stale)).toBe("REVOCATION_STATE_STALE")
  expect(await call(header)).toBe("allow")
})

test("a fault during verification denies access", async () => {
  const { call, token } = setUp(() => ({ keySet: { find: () => Promise.reject(new Error("fault")) } }))
  expect(await call(`Bearer ${token()}`)).toBe("INTERNAL")
})

test("introspection concerns the caller's own token, and happens only if it can change the decision", async () => {
  const stale: Requirement = { ...users, freshness: { maxStalenessMs: 10_000, onStale: "INTROSPECT" } }
  const asked: string[] = []
  const { guard, token, pass, clock } = setUp((own) => ({
    introspect: async (_, text) => {
      asked.push(text)
      return { facts: active, asOfMs: own.nowMs() }
    },
  }))
  const [one, two] = [token(), token()]
  const caller = await guard.authenticate(`Bearer ${one}`)
  if (typeof caller === "string") throw new Error(caller)
  const isAllowed = async (of: typeof caller, requirement: Requirement) =>
    (await guard.authorize(of, requirement, {})).allow
  expect(await isAllowed(caller, stale)).toBe(true)
  expect(await isAllowed(caller, { is: "kinds", of: ["SERVICE"] })).toBe(false)
  expect(asked).toEqual([])
  pass(10_001)
  expect(clock.nowMs() - caller.issuedAtMs).toBeGreaterThan(10_000)
  expect(await isAllowed(caller, { ...stale, is: "kinds", of: ["SERVICE"] })).toBe(false)
  expect(await isAllowed(caller, stale)).toBe(true)
  const introduced = { ...caller }
  guard.introduce(introduced, two)
  expect(await isAllowed(introduced, stale)).toBe(true)
  expect(await isAllowed({ ...caller }, stale)).toBe(true)
  expect(asked.slice(-3)).toEqual([one, two, ""])
})

test("a caller accepted by scopes gets the grants in memory, if there are any", async () => {
  const snapshot: PermissionSnapshot = {
    roles: new Map([["rol_1", { key: "editor", permissions: new Set(["notes.note.edit"]), inheritable: true }]]),
    scopes: new Map(),
    grants: [{ appId: ids.app, tenantId: null, contextId: null, roleId: "rol_1", resource: null, expiresAtMs: null }],
  }
  const rolesWith = async (held: FindPermissions["held"], requirement = users) => {
    const permissions = Object.assign(async () => snapshot, held && { held })
    const { guard, token } = setUp(() => ({ permissions }))
    const decision = await guard.authorize(await guard.authenticate(`Bearer ${token()}`), requirement, {})
    return decision.allow ? decision.context?.roles : decision.reason
  }
  expect(await rolesWith(async () => snapshot)).toEqual(new Set(["editor"]))
  expect(await rolesWith(async () => undefined)).toBe(notLoaded)
  expect(await rolesWith(() => Promise.reject(new Error("no memory")))).toBe(notLoaded)
  expect(await rolesWith(undefined)).toBe(notLoaded)
  const services: Requirement = { is: "kinds", of: ["SERVICE"] }
  expect(await rolesWith(async () => snapshot, services)).toBe("PRINCIPAL_KIND_NOT_ALLOWED")
})

test.each([undefined, null, "", "app_", "prn_00000000000000000000000000", "**"])(
  "a guard needs a valid appId: %j",
  (appId) => {
    expect(() => setUp(() => ({ appId: appId as string }))).toThrow("the guard's option appId")
  },
)
