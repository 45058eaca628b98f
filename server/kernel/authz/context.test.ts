import { describe, expect, test } from "vitest"
import { contextOf, notLoaded, withGrants } from "./context.ts"
import { delegatedClaims, serviceClaims, userClaims } from "./testing.ts"

describe("the three shapes of the specification", () => {
  test("user to service: identity and session, no actor", () => {
    expect(contextOf(userClaims)).toMatchObject({
      principal: { id: userClaims.sub, kind: "USER" },
      identityId: userClaims.identity_id,
      appId: userClaims.app_id,
      tenantId: userClaims.tenant_id,
      contextId: null,
      sessionId: userClaims.sid,
      tokenId: userClaims.jti,
      credentialId: null,
      issuer: userClaims.iss,
      audience: userClaims.aud,
      scopes: new Set(["notes.read"]),
      method: "USER_SESSION",
      actor: null,
      delegation: null,
      claims: userClaims,
      authTimeMs: 1_699_999_990_000,
      issuedAtMs: 1_700_000_000_000,
      expiresAtMs: 1_700_000_600_000,
      permVer: 1,
    })
  })

  test("service to service: no identity, session or actor", () => {
    expect(contextOf({ ...serviceClaims, cred_id: "scr_1" })).toMatchObject({
      principal: { id: serviceClaims.sub, kind: "SERVICE" },
      identityId: null,
      sessionId: null,
      credentialId: "scr_1",
      method: "CLIENT_CREDENTIALS",
      actor: null,
      authTimeMs: null,
    })
  })

  test("service on behalf of a user: the user's identity, no session, an actor", () => {
    const actor = { id: delegatedClaims.act?.sub, kind: "SERVICE" }
    expect(contextOf(delegatedClaims)).toMatchObject({
      principal: { id: userClaims.sub, kind: "USER" },
      identityId: userClaims.identity_id,
      sessionId: null,
      method: "ON_BEHALF_OF",
      actor,
      delegation: { actor, actorClientId: "svc-mail", jobId: "job-1", originSessionId: userClaims.sid, depth: 1 },
    })
  })
})

test("a personal access token is a user without a session", () => {
  const { sid: _, ...claims } = userClaims
  expect(contextOf({ ...claims, gty: "pat", cred_id: "pat_1" })).toMatchObject({
    principal: { kind: "USER" },
    identityId: userClaims.identity_id,
    sessionId: null,
    credentialId: "pat_1",
    method: "PERSONAL_ACCESS_TOKEN",
    actor: null,
  })
})

test("only the outermost actor acts; nested ones count towards the depth", () => {
  if (delegatedClaims.act === undefined) throw new Error("no actor")
  const act = { ...delegatedClaims.act, act: { ...delegatedClaims.act, client_id: "svc-first" } }
  expect(contextOf({ ...delegatedClaims, act }).delegation).toMatchObject({ actorClientId: "svc-mail", depth: 2 })
})

test("roles and permissions come from the authority and never from the token", () => {
  const payload = { ...userClaims, roles: ["admin"], permissions: ["all"], scope: "admin" }
  const unread = contextOf(userClaims, payload)
  const grants = { roles: new Set(["editor"]), permissions: new Set(["notes.note.edit"]) }
  expect(withGrants(unread, grants)).toEqual({ ...unread, ...grants })
  expect(unread).toMatchObject({ roles: notLoaded, permissions: notLoaded })
  expect(unread.claims.roles).toEqual(["admin"])
})

test("roles that are not loaded cannot be mistaken for an empty set", () => {
  const { roles } = contextOf(userClaims)
  // @ts-expect-error: it may be notLoaded.
  expect(() => roles.has("editor")).toThrow(TypeError)
  // @ts-expect-error: it may be notLoaded, which is not undefined.
  expect(() => roles?.has("editor")).toThrow(TypeError)
  // @ts-expect-error: it may be notLoaded.
  expect(() => [...roles]).toThrow(TypeError)
  expect(Boolean(roles)).toBe(true)
  expect(roles === notLoaded ? "not loaded" : roles.has("editor")).toBe("not loaded")
})

test("nothing in a context can be changed", () => {
  const held = { roles: new Set(["editor"]), permissions: new Set(["notes.note.edit"]) }
  const context = withGrants(contextOf(delegatedClaims, { ...delegatedClaims, own: { deep: [1] } }), held)
  expect(() => Reflect.apply(Reflect.get(context.scopes, "add"), context.scopes, ["x"])).toThrow(TypeError)
  expect(() => Reflect.apply(Reflect.get(Object(context.permissions), "clear"), context.permissions, [])).toThrow(
    TypeError,
  )
  const parts = [
    context,
    context.principal,
    context.actor,
    context.delegation,
    context.delegation?.actor,
    context.claims,
  ]
  const claims = [
    context.claims.scp,
    context.claims.act,
    context.claims.own,
    Reflect.get(Object(context.claims.own), "deep"),
  ]
  for (const part of [...parts, ...claims]) expect(Object.isFrozen(part)).toBe(true)
  expect(context.scopes.has("notes.read")).toBe(true)
  expect(context.scopes.has("x")).toBe(false)
})
