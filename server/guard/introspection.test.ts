import { contextOf } from "@signet/kernel/authz/context"
import { displacement, inactivity } from "@signet/kernel/authz/liveness"
import { newId } from "@signet/kernel/ids"
import { app, principal, session } from "@signet/kernel/testing/records"
import type { AccessTokenClaims } from "@signet/kernel/token/claims"
import { expect, test } from "vitest"
import { createIntrospection } from "./introspection.ts"

const nowMs = 1_700_000_000_000
const now = nowMs / 1_000
const claims: AccessTokenClaims = {
  iss: "https://auth.example",
  aud: "svc-notes",
  sub: principal.id,
  jti: "jti_1",
  sid: session.id,
  principal_type: "user",
  identity_id: session.identityId,
  app_id: app.id,
  scp: [],
  perm_ver: 0,
  amr: ["IDP_A"],
  iat: now,
  nbf: now,
  exp: now + 600,
  client_id: "notes-web",
  gty: "session",
}
const context = contextOf(claims)

/** The guard's reading of an introspection response: the reason that it refuses for, "active", or "no answer". */
async function told(body: string, of = context): Promise<string> {
  const introspect = createIntrospection({
    url: "https://auth.example/auth/token/introspect",
    token: async () => "own",
    fetch: async () => new Response(body),
    clock: { nowMs: () => nowMs },
  })
  return introspect(of, "token").then(
    ({ facts, asOfMs }) => inactivity(of, facts, asOfMs) ?? displacement(of, facts) ?? "active",
    () => "no answer",
  )
}

test.each([
  ['{"active":true,"jti":"jti_1"}', "active"],
  ['{"active":false}', "TOKEN_REVOKED"],
  // About another token, or about no token.
  ['{"active":true,"jti":"jti_2"}', "no answer"],
  ['{"active":true}', "no answer"],
  ['{"active":"true","jti":"jti_1"}', "no answer"],
  ['{"jti":"jti_1"}', "no answer"],
  ["{}", "no answer"],
  ["null", "no answer"],
  ['"active"', "no answer"],
  ["x", "no answer"],
])("%s is: %s", async (body, expected) => {
  expect(await told(body)).toBe(expected)
})

test("an active token in a tenant and a context is active there", async () => {
  const tenant_id = newId("ten", 1, new Uint8Array(10))
  const context_id = newId("ctx", 1, new Uint8Array(10))
  const answer = '{"active":true,"jti":"jti_1"}'
  expect(await told(answer, contextOf({ ...claims, tenant_id }))).toBe("active")
  expect(await told(answer, contextOf({ ...claims, tenant_id, context_id }))).toBe("active")
})
