import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { contextOf } from "../authz/context.ts"
import { newId } from "../ids.ts"
import { type AccessTokenClaims, buildUserClaims, parseClaims } from "./claims.ts"

const id = <K extends Parameters<typeof newId>[0]>(kind: K, n = 0) => newId(kind, 1_000 + n, new Uint8Array(10))
const session = {
  id: id("ses"),
  principalId: id("prn"),
  identityId: id("idn"),
  appId: id("app"),
  tenantId: null,
  contextId: null,
  amr: ["IDP_A"],
  authTimeMs: 1_699_999_000_999,
  boundDeviceId: null,
}
const asked = {
  issuer: "https://auth.example",
  audience: "svc-notes",
  session,
  principal: { id: id("prn"), kind: "USER" as const },
  tokenId: id("jti"),
  clientId: id("pcl"),
  scopes: ["notes.read"],
  versions: { principal: 6, policy: 1 },
  nowSeconds: 1_700_000_000,
}
const user = buildUserClaims(asked)
const act = { sub: id("prn", 1), principal_type: "service", client_id: "svc-mail" } as const
const delegated = without({ ...user, gty: "on_behalf_of", osid: user.sid, act, job_id: "job-1" }, "sid")
const service = without(
  { ...user, gty: "client_credentials", principal_type: "service", cred_id: "scr_1" },
  ...["sid", "identity_id", "auth_time"],
)
const pat = without({ ...user, gty: "pat", cred_id: "pat_1" }, "sid")

function without(claims: object, ...names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !names.includes(name)))
}

describe("a user's claims", () => {
  test("are the specification's and those of RFC 9068", () => {
    expect(user).toEqual({
      iss: "https://auth.example",
      aud: "svc-notes",
      sub: session.principalId,
      jti: asked.tokenId,
      sid: session.id,
      principal_type: "user",
      identity_id: session.identityId,
      app_id: session.appId,
      scp: ["notes.read"],
      perm_ver: 7,
      pol_ver: 1,
      amr: ["IDP_A"],
      iat: 1_700_000_000,
      nbf: 1_700_000_000,
      exp: 1_700_000_600,
      client_id: asked.clientId,
      gty: "session",
      auth_time: 1_699_999_000,
    } satisfies AccessTokenClaims)
  })

  test("name the session's bound device; only session tokens do", () => {
    const did = id("dev")
    const bound = buildUserClaims({ ...asked, session: { ...session, boundDeviceId: did } })
    expect(parseClaims(bound)).toEqual({ ...user, did })
    expect(contextOf(bound).deviceId).toBe(did)
    expect(contextOf(user).deviceId).toBeNull()
    for (const claims of [
      { ...delegated, did },
      { ...service, did },
      { ...pat, did },
      { ...user, did: id("prn") },
    ]) {
      expect(parseClaims(claims)).toBe("MALFORMED_CREDENTIAL")
    }
  })

  test("name tenant and context if the session has them", () => {
    const place = { tenantId: id("ten"), contextId: id("ctx") }
    expect(buildUserClaims({ ...asked, session: { ...session, ...place } })).toMatchObject({
      tenant_id: place.tenantId,
      context_id: place.contextId,
    })
  })

  test.each([299, 901, 600.5, Number.NaN])("never live %d seconds", (lifetimeSeconds) => {
    expect(() => buildUserClaims({ ...asked, lifetimeSeconds })).toThrow(RangeError)
  })

  test.each([300, 900])("may live %d seconds", (lifetimeSeconds) => {
    const claims = buildUserClaims({ ...asked, lifetimeSeconds })
    expect(claims.exp - claims.iat).toBe(lifetimeSeconds)
  })

  test("are never built for another principal than the session's", () => {
    expect(() => buildUserClaims({ ...asked, principal: { id: id("prn", 9), kind: "USER" } })).toThrow(RangeError)
    expect(() => buildUserClaims({ ...asked, principal: { id: id("prn"), kind: "SERVICE" } })).toThrow(RangeError)
  })
})

describe("parsing claims", () => {
  test.each([
    ["a user's", user],
    ["a service's", service],
    ["a personal access token's", pat],
    ["a delegated token's", delegated],
  ])("accepts %s unchanged", (_, claims) => {
    expect(parseClaims(JSON.parse(JSON.stringify(claims)))).toEqual(claims)
  })

  test.each<[string, unknown, string]>([
    ["no object", null, "MALFORMED_CREDENTIAL"],
    ["a list", [user], "MALFORMED_CREDENTIAL"],
    ["no issuer", without(user, "iss"), "ISSUER_MISMATCH"],
    ["an empty issuer", { ...user, iss: "" }, "ISSUER_MISMATCH"],
    ["a list of audiences", { ...user, aud: ["svc-notes"] }, "AUDIENCE_MISMATCH"],
    ["an expiry as text", { ...user, exp: "1700000600" }, "TOKEN_EXPIRED"],
    ["no expiry", without(user, "exp"), "TOKEN_EXPIRED"],
    ["a fraction of a second", { ...user, exp: user.exp - 0.5 }, "TOKEN_EXPIRED"],
    ["a life of 901 seconds", { ...user, exp: user.iat + 901 }, "TOKEN_EXPIRED"],
    ["no start", without(user, "nbf"), "TOKEN_NOT_YET_VALID"],
    ["no time of issue", without(user, "iat"), "TOKEN_NOT_YET_VALID"],
    ["no app", without(user, "app_id"), "MALFORMED_CREDENTIAL"],
    ["a tenant for an app", { ...user, app_id: id("ten") }, "MALFORMED_CREDENTIAL"],
    ["null for absent", { ...user, tenant_id: null }, "MALFORMED_CREDENTIAL"],
    ["a kind in capitals", { ...user, principal_type: "USER" }, "MALFORMED_CREDENTIAL"],
    ["an agent", { ...user, principal_type: "agent" }, "MALFORMED_CREDENTIAL"],
    ["no subject", without(user, "sub"), "MALFORMED_CREDENTIAL"],
    ["no token id", without(user, "jti"), "MALFORMED_CREDENTIAL"],
    ["no client", without(user, "client_id"), "MALFORMED_CREDENTIAL"],
    ["scopes as one text", { ...user, scp: "notes.read" }, "MALFORMED_CREDENTIAL"],
    ["a scope that is none", { ...user, scp: [1] }, "MALFORMED_CREDENTIAL"],
    ["a negative permission version", { ...user, perm_ver: -1 }, "MALFORMED_CREDENTIAL"],
    ["one without a policy's", { ...user, perm_ver: -1, pol_ver: undefined }, "MALFORMED_CREDENTIAL"],
    ["a policy's version above the whole", { ...user, perm_ver: 7, pol_ver: 8 }, "MALFORMED_CREDENTIAL"],
    ["no grant type", without(user, "gty"), "MALFORMED_CREDENTIAL"],
    ["a grant type of every object", { ...user, gty: "constructor" }, "MALFORMED_CREDENTIAL"],
    ["a user without identity", without(user, "identity_id"), "MALFORMED_CREDENTIAL"],
    ["a user without session", without(user, "sid"), "MALFORMED_CREDENTIAL"],
    ["a user with a service's grant", without({ ...user, gty: "client_credentials" }, "sid"), "MALFORMED_CREDENTIAL"],
    ["a service with an identity", { ...service, identity_id: user.identity_id }, "MALFORMED_CREDENTIAL"],
    ["a service with a session", { ...service, sid: user.sid }, "MALFORMED_CREDENTIAL"],
    ["a service with a user's grant", { ...service, gty: "pat" }, "MALFORMED_CREDENTIAL"],
    ["a signed-in user with an actor", { ...user, act, job_id: "job-1" }, "MALFORMED_CREDENTIAL"],
    ["a delegated call with a session", { ...delegated, sid: user.sid }, "MALFORMED_CREDENTIAL"],
    ["a delegated call without actor", without(delegated, "act"), "MALFORMED_CREDENTIAL"],
    ["a delegated call without job", without(delegated, "job_id"), "MALFORMED_CREDENTIAL"],
    [
      "a delegated call for a service",
      without({ ...delegated, principal_type: "service" }, "identity_id"),
      "MALFORMED_CREDENTIAL",
    ],
    ["an actor without id", { ...delegated, act: without(act, "sub") }, "MALFORMED_CREDENTIAL"],
    ["an actor that is a user", { ...delegated, act: { ...act, principal_type: "user" } }, "MALFORMED_CREDENTIAL"],
    ["an actor without client", { ...delegated, act: without(act, "client_id") }, "MALFORMED_CREDENTIAL"],
    ["an actor's actor that is none", { ...delegated, act: { ...act, act: "x" } }, "MALFORMED_CREDENTIAL"],
  ])("refuses %s", (_, claims, reason) => {
    expect(parseClaims(claims)).toBe(reason)
  })

  test("accepts three actors and refuses four", () => {
    const chain = (depth: number): object => (depth === 1 ? act : { ...act, act: chain(depth - 1) })
    expect(parseClaims({ ...delegated, act: chain(3) })).toMatchObject({ job_id: "job-1" })
    expect(parseClaims({ ...delegated, act: chain(4) })).toBe("DELEGATION_CHAIN_TOO_DEEP")
    expect(parseClaims({ ...delegated, act: chain(2_000) })).toBe("DELEGATION_CHAIN_TOO_DEEP")
  })

  test("ignores unknown claims", () => {
    const known = new Set(Object.keys({ ...user, ...delegated, ...service, tenant_id: 0, context_id: 0, did: 0 }))
    const name = fc.string().filter((text) => !known.has(text) && text !== "__proto__")
    fc.assert(
      fc.property(fc.dictionary(name, fc.jsonValue()), (unknown) => {
        expect(parseClaims({ ...unknown, ...user })).toEqual(user)
      }),
    )
  })

  test("never throws", () => {
    const claim = fc.constantFrom(...Object.keys({ ...user, ...delegated, ...service, tenant_id: 0, did: 0 }))
    fc.assert(
      fc.property(fc.dictionary(claim, fc.jsonValue()), fc.jsonValue(), (change, other) => {
        for (const value of [{ ...user, ...change }, { ...delegated, ...change }, change, other]) {
          const parsed = parseClaims(value)
          expect(["string", "object"]).toContain(typeof parsed)
        }
      }),
    )
  })
})

test("a lifetime of 900 seconds is accepted, and so are versions that are all policy", () => {
  const claims = { ...user, exp: user.iat + 900, perm_ver: 7, pol_ver: 7 }
  expect(parseClaims(claims)).toMatchObject({ exp: user.iat + 900, perm_ver: 7, pol_ver: 7 })
})
