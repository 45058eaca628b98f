import { describe, expect, test } from "vitest"
import { contextOf } from "../authz/context.ts"
import { newId } from "../ids.ts"
import { app, identity, principal, session } from "../testing/records.ts"
import { parseClaims } from "./claims.ts"
import { buildDelegatedClaims, buildPatClaims, buildServiceClaims, subjectOfToken } from "./machine-claims.ts"

const random = (last: number) => new Uint8Array(10).fill(last)
const issue = {
  issuer: "https://auth.example",
  audience: "svc-notes",
  tokenId: newId("jti", 1, random(1)),
  scopes: ["notes.read"],
  versions: { principal: 2, policy: 1 },
  nowSeconds: 1_000,
  lifetimeSeconds: 600,
}
const actor = { principalId: newId("prn", 1, random(2)), appId: app.id, clientId: "sac_1" }
const contextId = newId("ctx", 1, random(3))
const pat = {
  id: newId("pat", 1, random(4)),
  principalId: principal.id,
  identityId: identity.id,
  appId: app.id,
  tenantId: null,
}
const subject = {
  principalId: principal.id,
  identityId: identity.id,
  tenantId: null,
  contextId: null,
  originSessionId: session.id,
  amr: ["IDP_A"],
  authTimeMs: 900_000,
}

const service = buildServiceClaims({ ...issue, account: actor, tenantId: null, contextId, credentialId: "scr_1" })
const personal = buildPatClaims({ ...issue, pat, contextId: null })
const delegated = buildDelegatedClaims({ ...issue, subject, actor, jobId: "job-1", credentialId: "scr_1" })

describe("the claims of", () => {
  test.each([
    ["a service", service],
    ["a personal access token", personal],
    ["a delegated call", delegated],
  ])("%s are claims that verifiers accept", (_, claims) => {
    expect(parseClaims(JSON.parse(JSON.stringify(claims)))).toEqual(claims)
    expect(claims).toMatchObject({
      iss: issue.issuer,
      aud: "svc-notes",
      iat: 1_000,
      nbf: 1_000,
      exp: 1_600,
      perm_ver: 3,
      pol_ver: 1,
    })
  })

  test("a service name no user and no session", () => {
    expect(service).toMatchObject({ sub: actor.principalId, principal_type: "service", gty: "client_credentials" })
    expect(service).toMatchObject({ client_id: "sac_1", cred_id: "scr_1", context_id: contextId })
    expect(Object.keys(service)).not.toContain("sid")
    expect(Object.keys(service)).not.toContain("identity_id")
  })

  test("a personal access token end with it", () => {
    expect(personal).toMatchObject({ sub: principal.id, gty: "pat", cred_id: pat.id })
    expect(Object.keys(personal)).not.toContain("sid")
  })

  test("a delegated call distinguish subject and actor as in the specification", () => {
    const context = contextOf(delegated)
    expect(context.principal).toEqual({ id: principal.id, kind: "USER" })
    expect(context.actor).toEqual({ id: actor.principalId, kind: "SERVICE" })
    expect(context.sessionId).toBeNull()
    expect(context.method).toBe("ON_BEHALF_OF")
    expect(context.delegation).toMatchObject({ jobId: "job-1", originSessionId: session.id, depth: 1 })
    expect(delegated.auth_time).toBe(900)
  })
})

test("a user's token yields the subject of an exchange; a service's yields none", () => {
  const own = contextOf({ ...delegated, gty: "session", sid: session.id })
  expect(subjectOfToken(own)).toEqual({ ...subject })
  expect(subjectOfToken(contextOf(service))).toBeUndefined()
})
