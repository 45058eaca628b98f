import { notLoaded } from "@signet/kernel/authz/context"
import type { PermissionSnapshot } from "@signet/kernel/authz/effective"
import type { Requirement } from "@signet/kernel/authz/requirement"
import { snapshotClaims } from "@signet/kernel/authz/snapshot"
import { newId } from "@signet/kernel/ids"
import { describe, expect, test } from "vitest"
import { createGuard } from "../guard.ts"
import { createLocalKeySet, type KeySet } from "../key-set.ts"
import { createKeyValueSnapshots } from "../kv-cache.ts"
import { nodeTokenCrypto } from "../node/token-crypto.ts"
import { createIssuer, encode, ids } from "../testing/issuer.ts"
import { createPermissionSnapshots, type PermissionSnapshotsOptions, type SnapshotCache } from "./snapshots.ts"

const action: Requirement = { is: "action", action: "notes.note.edit" }
const place = { appId: ids.app, tenantId: null, contextId: null }

const snapshot: PermissionSnapshot = {
  roles: new Map([["rol_1", { key: "editor", permissions: new Set(["notes.note.edit"]), inheritable: true }]]),
  scopes: new Map([["notes.read", new Set(["notes.note.edit"])]]),
  grants: [{ ...place, roleId: "rol_1", resource: null, expiresAtMs: null }],
}

const random = new Uint8Array(10).fill(9)
const [tenantId, contextId] = [newId("ten", 9, random), newId("ctx", 9, random)]
const [otherPrincipal, otherApp] = [newId("prn", 9, random), newId("app", 9, random)]

/** A service with a guard, and an issuer that answers it. */
function setUp(change: Partial<PermissionSnapshotsOptions> = {}) {
  const issuer = createIssuer()
  // The issuer's keys for statements differ from those for access tokens.
  const statements = createIssuer()
  const { clock, audience } = issuer
  const claimsOf = (permVer: number, of: object = {}): Record<string, unknown> => ({
    ...snapshotClaims({
      issuer: issuer.issuer,
      key: { ...place, principalId: ids.principal },
      versions: { principal: permVer - 1, policy: 1 },
      snapshot,
      nowSeconds: Math.floor(clock.nowMs() / 1_000),
    }),
    ...of,
  })
  const sign = (claims: object, header: object = {}) =>
    statements.signParts(encode({ ...statements.header, typ: "perm+jwt", ...header }), encode(claims))
  const asked: URL[] = []
  const answers = {
    next: (url: URL): Response | Promise<Response> =>
      Response.json({ jws: sign(claimsOf(Number(url.searchParams.get("permVer")))) }),
  }
  const permissions = createPermissionSnapshots({
    issuer: issuer.issuer,
    baseUrl: "https://auth.example",
    statementKeys: createLocalKeySet(statements, nodeTokenCrypto),
    token: async () => "service-token",
    clock,
    crypto: nodeTokenCrypto,
    fetch: async (input) => {
      const url = new URL(String(input))
      asked.push(url)
      return answers.next(url)
    },
    ...change,
  })
  const keySet = createLocalKeySet(issuer, nodeTokenCrypto)
  const guard = createGuard({ issuer: issuer.issuer, audience, appId: issuer.appId, clock, keySet, permissions })
  const call = async (token: string, requirement = action) => {
    const caller = await guard.authenticate(`Bearer ${token}`)
    const decision = await guard.authorize(caller, requirement, {})
    return decision.allow ? "allow" : decision.reason
  }
  return { issuer, statements, guard, call, asked, answers, claimsOf, sign }
}

test("grants are fetched once per version, for exactly the token's principal and place", async () => {
  const { call, asked, issuer } = setUp()
  const place = { tenant_id: tenantId, context_id: contextId }
  expect(await Promise.all([call(issuer.token()), call(issuer.token())])).toEqual(["allow", "allow"])
  expect(await call(issuer.token())).toBe("allow")
  expect(asked.map(String)).toEqual([
    `https://auth.example/auth/permissions/${ids.principal}?appId=${ids.app}&permVer=1`,
  ])
  await call(issuer.token({ perm_ver: 2 }))
  await call(issuer.token(place))
  expect(asked.slice(1).map(({ search }) => search)).toEqual([
    `?appId=${ids.app}&permVer=2`,
    `?appId=${ids.app}&tenantId=${tenantId}&contextId=${contextId}&permVer=1`,
  ])
})

test("no grants are fetched if scopes decide, or for a call that fails before", async () => {
  const { call, asked, issuer } = setUp()
  const scope: Requirement = { is: "scope", scope: "notes.read" }
  expect(await call(issuer.token(), scope)).toBe("allow")
  expect(await call(issuer.token(), { is: "anyOf", of: [action, scope] })).toBe("allow")
  expect(await call(issuer.token(), { is: "allOf", of: [action, { is: "kinds", of: ["SERVICE"] }] })).toBe(
    "PRINCIPAL_KIND_NOT_ALLOWED",
  )
  expect(asked).toEqual([])
})

test("a revoked statement key invalidates its snapshots, cached ones included, before it leaves the key set", async () => {
  let isRevoked = false
  const withoutRevoked = (keys: KeySet): KeySet => ({
    find: async (kid) => (isRevoked ? "KEY_UNKNOWN" : keys.find(kid)),
  })
  const kept = new Map<string, string>()
  const cache: SnapshotCache = {
    get: async (key) => kept.get(key),
    put: async (key, jws) => void kept.set(key, jws),
  }
  const { call, issuer, asked } = setUp({ cache, revocations: { withoutRevoked } })
  expect(await call(issuer.token())).toBe("allow")
  isRevoked = true
  expect(kept.size).toBe(1)
  expect(await call(issuer.token())).toBe("UNAVAILABLE")
  expect(asked).toHaveLength(2)
})

test("the handler receives roles, and the permissions that the scopes allow", async () => {
  const { guard, issuer } = setUp()
  const decision = await guard.authorize(await guard.authenticate(`Bearer ${issuer.token()}`), action, {})
  if (!decision.allow || decision.context === undefined) throw new Error("not allowed")
  expect(decision.context).toMatchObject({ roles: new Set(["editor"]), permissions: new Set(["notes.note.edit"]) })
  expect(await setUp().call(issuer.token({ scp: [] }))).not.toBe("allow")
})

describe("an answer is rejected", () => {
  const isRefused = async (jws: (world: ReturnType<typeof setUp>) => string) => {
    const world = setUp()
    world.answers.next = () => Response.json({ jws: jws(world) })
    expect(await world.call(world.issuer.token({ perm_ver: 7 }))).toBe("UNAVAILABLE")
    return world
  }

  test.each<[string, object]>([
    ["of an older version under the newer one", { perm_ver: 6 }],
    ["of a newer version", { perm_ver: 8 }],
    ["of somebody else", { sub: otherPrincipal }],
    ["of another app", { app_id: otherApp }],
    ["of a tenant", { tenant_id: tenantId }],
    ["of a context", { context_id: contextId }],
    ["of another issuer", { iss: "https://other.example" }],
    ["from the future", { iat: 9_999_999_999 }],
    ["without its grants", { grants: undefined }],
    ["without its roles", { roles: {} }],
    ["with scopes in a list", { scopes: [] }],
    ["with a grant whose place is not understood", { grants: [{ role_id: "rol_1", tenant_id: "everywhere" }] }],
    ["with a grant whose resource is not understood", { grants: [{ role_id: "rol_1", resource: "all" }] }],
    ["with a grant whose end is not understood", { grants: [{ role_id: "rol_1", expires_at_ms: "never" }] }],
    ["with a role that may or may not be inherited", { roles: [{ id: "rol_1", key: "r", permissions: [] }] }],
  ])("%s", async (_, change) => {
    await isRefused(({ claimsOf, sign }) => sign(claimsOf(7, change)))
  })

  test("that is signed with a key for access tokens, or is an access token", async () => {
    await isRefused(({ issuer, claimsOf }) =>
      issuer.signParts(encode({ ...issuer.header, typ: "perm+jwt" }), encode(claimsOf(7))),
    )
    await isRefused(({ issuer }) => issuer.token({ perm_ver: 7 }))
  })

  test.each<[string, object]>([
    ["of another type", { typ: "at+jwt" }],
    ["of the feed's type", { typ: "rev+jwt" }],
    ["of no type", { typ: undefined }],
    ["of another algorithm", { alg: "HS256" }],
    ["of no algorithm", { alg: "none" }],
    ["of a key of its own", { jwk: {} }],
  ])("%s", async (_, header) => {
    await isRefused(({ claimsOf, sign }) => sign(claimsOf(7), header))
  })

  test("and a snapshot is no access token under any key", async () => {
    const { call, claimsOf, sign, issuer } = setUp()
    expect(await call(sign(claimsOf(1)))).toBe("TYP_NOT_ALLOWED")
    expect(await call(sign(issuer.claims(), { typ: "at+jwt" }))).toBe("SIGNATURE_INVALID")
  })
})

describe("an issuer that", () => {
  test.each<[string, () => Response | Promise<Response>]>([
    ["does not answer", () => Promise.reject(new Error("down"))],
    ["has a fault", () => new Response("", { status: 500 })],
    ["refuses", () => new Response("", { status: 403 })],
    ["leads elsewhere", () => new Response("", { status: 302, headers: { location: "https://evil.example" } })],
    ["answers something else", () => Response.json({ jws: 1 })],
    ["answers no JSON", () => new Response("{")],
    ["answers without end", () => Response.json({ jws: "a".repeat(1_100_000) })],
  ])("%s grants nothing, and the next call requests it again", async (_, answer) => {
    const { call, answers, issuer, asked } = setUp()
    const { next } = answers
    answers.next = answer
    expect(await call(issuer.token())).toBe("UNAVAILABLE")
    answers.next = next
    expect(await call(issuer.token())).toBe("allow")
    expect(asked).toHaveLength(2)
  })

  test("knows a newer version makes the token stale permanently", async () => {
    const { call, answers, issuer, asked } = setUp()
    answers.next = () => new Response("", { status: 409 })
    expect(await call(issuer.token())).toBe("PERMISSIONS_STALE")
    expect(await call(issuer.token())).toBe("PERMISSIONS_STALE")
    expect(asked).toHaveLength(1)
  })

  test("rejects this service's token is asked again once, with a new token", async () => {
    const given: (string | undefined)[] = []
    const { call, answers, issuer } = setUp({
      token: async (refused) => {
        given.push(refused)
        return refused === undefined ? "first" : "second"
      },
    })
    const { next } = answers
    answers.next = (url) => (given.length === 1 ? new Response("", { status: 401 }) : next(url))
    expect(await call(issuer.token())).toBe("allow")
    expect(given).toEqual([undefined, "first"])
  })
})

describe("a cached snapshot", () => {
  function keyValue() {
    const kept = new Map<string, string>()
    const store = {
      get: async (key: string) => kept.get(key) ?? null,
      put: async (key: string, value: string) => kept.set(key, value),
    }
    return { kept, cache: createKeyValueSnapshots(store) }
  }

  test("in a key-value store replaces a request, under one key per version and place", async () => {
    const { kept, cache } = keyValue()
    const { call, issuer } = setUp({ cache })
    expect(await call(issuer.token())).toBe("allow")
    expect([...kept.keys()]).toEqual([`signet-perm ${ids.principal} ${ids.app} - - 1`])
    expect(await call(issuer.token({ perm_ver: 2 }))).toBe("allow")
    expect(kept.size).toBe(2)
  })

  test("is verified on every read: an old one under a newer key is fetched again", async () => {
    const { kept, cache } = keyValue()
    const { call, issuer, claimsOf, sign, asked } = setUp({ cache })
    const put = (jws: string) => kept.set(`signet-perm ${ids.principal} ${ids.app} - - 2`, jws)
    for (const planted of [sign(claimsOf(1)), sign(claimsOf(2, { sub: otherPrincipal })), "junk"]) {
      const before = asked.length
      put(planted)
      const world = setUp({ cache })
      expect(await world.call(world.issuer.token({ perm_ver: 2 }))).toBe("allow")
      expect([world.asked.length, asked.length]).toEqual([1, before])
    }
    put(sign(claimsOf(2)))
    expect(await call(issuer.token({ perm_ver: 2 }))).toBe("allow")
    expect(asked).toEqual([])
  })

  test("in a failing store does not deny access", async () => {
    const broken: SnapshotCache = {
      get: () => Promise.reject(new Error("down")),
      put: () => Promise.reject(new Error("down")),
    }
    const { call, issuer } = setUp({ cache: broken })
    expect(await call(issuer.token())).toBe("allow")
  })

  test.each([
    ["as many as there may be", { capacity: 2 }, 2],
    ["as much as there may be", { maxHeldLength: 1_000 }, 1],
  ])("in memory is %s, and the least recently used entry is evicted first", async (_, limits, more) => {
    const { call, issuer, asked } = setUp(limits)
    const ask = (perm_ver: number) => call(issuer.token({ perm_ver }))
    await ask(1)
    for (let version = 2; version < 2 + more; version++) await ask(version)
    const before = asked.length
    await ask(1 + more)
    expect(asked).toHaveLength(before)
    await ask(1)
    expect(asked).toHaveLength(before + 1)
  })

  test("in memory counts exactly against the capacity", async () => {
    const { sign, claimsOf } = setUp()
    const { length } = sign(claimsOf(1))
    for (const [limits, kept] of [
      [{ capacity: 2 }, 2],
      [{ maxHeldLength: 2 * length }, 2],
      [{ maxHeldLength: 2 * length - 1 }, 1],
    ] as const) {
      const { call, issuer, asked } = setUp(limits)
      for (const perm_ver of [1, 2, 2, 1]) expect(await call(issuer.token({ perm_ver }))).toBe("allow")
      expect(asked).toHaveLength(kept === 2 ? 2 : 3)
    }
  })

  test("of an outdated version grants nothing, and does not deny access if scopes decide", async () => {
    const { call, guard, answers, issuer } = setUp()
    answers.next = () => new Response("", { status: 409 })
    expect(await call(issuer.token())).toBe("PERMISSIONS_STALE")
    const caller = await guard.authenticate(`Bearer ${issuer.token()}`)
    const decision = await guard.authorize(caller, { is: "scope", scope: "notes.read" }, {})
    if (!decision.allow || decision.context === undefined) throw new Error("not allowed")
    expect(decision.context.roles).toBe(notLoaded)
    if (typeof caller === "string") throw new Error(caller)
    await expect(guard.loadGrants(caller)).rejects.toMatchObject({ reason: "PERMISSIONS_STALE" })
  })

  test("is dropped with the key that signed it", async () => {
    const { call, issuer, statements, asked, answers } = setUp()
    expect(await call(issuer.token())).toBe("allow")
    statements.jwks = () => []
    answers.next = () => new Response("", { status: 500 })
    expect(await call(issuer.token())).toBe("UNAVAILABLE")
    expect(asked).toHaveLength(2)
  })
})
