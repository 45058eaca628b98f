import { contextOf } from "@signet/kernel/authz/context"
import { inactivity } from "@signet/kernel/authz/liveness"
import { app, principal, session } from "@signet/kernel/testing/records"
import { expect, test } from "vitest"
import { createIntrospection } from "./introspection.ts"

const nowMs = 1_700_000_000_000
const now = nowMs / 1_000
const context = contextOf({
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
})

/** The guard's reading of an introspection response: the reason that it refuses for, "active", or "no answer". */
async function told(body: string): Promise<string> {
  const introspect = createIntrospection({
    url: "https://auth.example/auth/token/introspect",
    token: async () => "own",
    fetch: async () => new Response(body),
    clock: { nowMs: () => nowMs },
  })
  return introspect(context, "token").then(
    ({ facts, asOfMs }) => inactivity(context, facts, asOfMs) ?? "active",
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
