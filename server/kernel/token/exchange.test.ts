import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import { type AuthContext, contextOf } from "../authz/context.ts"
import { newId } from "../ids.ts"
import type { DelegationPolicy, StandingDelegation } from "../machine/records.ts"
import { app, principal, session } from "../testing/records.ts"
import type { AccessTokenClaims } from "./claims.ts"
import { decideExchange, type ExchangeRequest } from "./exchange.ts"

const random = (last: number) => new Uint8Array(10).fill(last)
const actorId = newId("prn", 1, random(1))
const otherId = newId("prn", 1, random(2))
const otherApp = newId("app", 1, random(3))
const tenant = newId("ten", 1, random(4))
const otherTenant = newId("ten", 1, random(5))
const otherPolicy = newId("dpo", 1, random(8))
const nowMs = 1_000_000_000

const policy: DelegationPolicy = {
  id: newId("dpo", 1, random(6)),
  appId: app.id,
  tenantId: null,
  actorPrincipalId: actorId,
  audiences: ["svc-notes", "auth"],
  scopes: ["notes.read", "notes.write", "auth.x"],
  maxSeconds: 300,
  allowStanding: true,
  createdAtMs: 1,
  revokedAtMs: null,
}

const standing: StandingDelegation = {
  id: newId("dlg", 1, random(7)),
  policyId: policy.id,
  appId: app.id,
  tenantId: null,
  contextId: null,
  subjectPrincipalId: principal.id,
  actorPrincipalId: actorId,
  audiences: ["svc-notes"],
  scopes: ["notes.read"],
  createdAtMs: 1,
  expiresAtMs: nowMs + 86_400_000,
  revokedAtMs: null,
}

const now = nowMs / 1_000
const claims: AccessTokenClaims = {
  iss: "https://auth.example",
  aud: "svc-gateway",
  sub: principal.id,
  jti: "jti_1",
  sid: session.id,
  principal_type: "user",
  identity_id: session.identityId,
  app_id: app.id,
  scp: ["gateway.use"],
  perm_ver: 0,
  amr: ["IDP_A"],
  iat: now,
  nbf: now,
  exp: now + 600,
  client_id: "notes-web",
  gty: "session",
}
const token = (
  change: Partial<AccessTokenClaims> = {},
  without: readonly (keyof AccessTokenClaims)[] = [],
): AuthContext => {
  const changed = { ...claims, ...change }
  for (const name of without) delete (changed as Partial<AccessTokenClaims>)[name]
  return contextOf(changed)
}

const question: ExchangeRequest = {
  actor: {
    principalId: actorId,
    appId: app.id,
    tenantId: null,
    ownedAudiences: ["svc-gateway"],
    allowedAudiences: ["svc-notes", "auth"],
    scopes: ["notes.read", "notes.write", "auth.x"],
  },
  policies: [policy],
  subject: { is: "token", context: token() },
  inactive: undefined,
  subjectScopes: ["notes.read", "notes.write", "auth.x"],
  audience: "svc-notes",
  audienceScopes: ["notes.read", "notes.write", "notes.admin"],
  scopes: ["notes.read"],
  authAudience: "auth",
  nowMs,
}
const decide = (change: Partial<ExchangeRequest>) => decideExchange({ ...question, ...change })
const subject = (context: AuthContext) => ({ subject: { is: "token", context } }) as const
const act = { sub: otherId, principal_type: "service", client_id: "sac_other" } as const
const serviceToken = token({ principal_type: "service", gty: "client_credentials" }, ["sid", "identity_id"])
const patToken = token({ gty: "pat" }, ["sid"])
const delegatedToken = token({ gty: "on_behalf_of", act, job_id: "j", osid: session.id }, ["sid"])

describe("an exchange", () => {
  test("grants exactly the requested scopes", () => {
    expect(decide({ scopes: ["notes.write", "notes.read"] })).toEqual({
      refuse: false,
      policy,
      scopes: ["notes.write", "notes.read"],
      lifetimeSeconds: 300,
    })
  })

  test("is granted to an actor of a tenant for a user of that tenant", () => {
    const actor = { ...question.actor, tenantId: tenant }
    expect(decide({ actor, ...subject(token({ tenant_id: tenant })) })).toMatchObject({ refuse: false })
    expect(decide({ actor })).toMatchObject({ reason: "TENANT_MISMATCH" })
  })

  test("is granted under a policy of the user's tenant", () => {
    const policies = [{ ...policy, tenantId: tenant }]
    expect(decide({ policies, ...subject(token({ tenant_id: tenant })) })).toMatchObject({ refuse: false })
    expect(decide({ policies })).toMatchObject({ reason: "DELEGATION_NOT_ALLOWED" })
  })

  test.each<[string, Partial<ExchangeRequest>, number]>([
    ["300 seconds at most", {}, 300],
    ["no longer than the policy says", { policies: [{ ...policy, maxSeconds: 60 }] }, 60],
    ["no longer than the subject token", { ...subject(token({ exp: now + 42 })) }, 42],
    [
      "no longer than the standing delegation",
      { subject: { is: "delegation", delegation: { ...standing, expiresAtMs: nowMs + 7_900 } } },
      7,
    ],
  ])("lives %s", (_, change, lifetimeSeconds) => {
    expect(decide(change)).toMatchObject({ refuse: false, lifetimeSeconds })
  })

  test("uses the first policy with both audience and scopes, and never combines two", () => {
    const reads = { ...policy, id: newId("dpo", 2, random(1)), scopes: ["notes.read"] }
    const elsewhere = { ...policy, id: newId("dpo", 2, random(2)), scopes: ["notes.write"], audiences: ["svc-mail"] }
    expect(decide({ policies: [elsewhere, reads] })).toMatchObject({ policy: { id: reads.id } })
    expect(decide({ policies: [elsewhere, reads], scopes: ["notes.read", "notes.write"] })).toMatchObject({
      reason: "SCOPE_NOT_GRANTED",
    })
    expect(decide({ policies: [elsewhere], scopes: ["notes.write"] })).toMatchObject({ reason: "AUDIENCE_NOT_ALLOWED" })
  })
})

// In the order of the checks: each row fails at its own check and is combined with every later one.
const inOrder: [string, Partial<ExchangeRequest>, string, string][] = [
  ["no policy", { policies: [] }, "DELEGATION_NOT_ALLOWED", "access_denied"],
  [
    "a policy that was revoked",
    { policies: [{ ...policy, revokedAtMs: 5 }] },
    "DELEGATION_NOT_ALLOWED",
    "access_denied",
  ],
  [
    "a token that does not verify",
    { subject: { is: "token", context: "SIGNATURE_INVALID" } },
    "SIGNATURE_INVALID",
    "invalid_grant",
  ],
  ["a token for somebody else", subject(token({ aud: "svc-notes" })), "AUDIENCE_MISMATCH", "invalid_grant"],
  ["a service's own token", subject(serviceToken), "PRINCIPAL_KIND_NOT_ALLOWED", "invalid_grant"],
  ["a token of no session", subject(patToken), "SUBJECT_TOKEN_INVALID", "invalid_grant"],
  ["an inactive subject", { inactive: "SESSION_REVOKED" }, "SESSION_REVOKED", "invalid_grant"],
  ["a subject of another app", subject(token({ app_id: otherApp })), "APP_MISMATCH", "invalid_grant"],
  [
    "an actor of another tenant",
    { actor: { ...question.actor, tenantId: tenant }, ...subject(token({ tenant_id: otherTenant })) },
    "TENANT_MISMATCH",
    "invalid_grant",
  ],
  [
    "a policy for another tenant",
    { policies: [{ ...policy, tenantId: tenant }], ...subject(token({ tenant_id: otherTenant })) },
    "DELEGATION_NOT_ALLOWED",
    "access_denied",
  ],
  [
    "a policy of another app",
    { policies: [{ ...policy, appId: otherApp }] },
    "DELEGATION_NOT_ALLOWED",
    "access_denied",
  ],
  ["a scope that the subject does not hold", { subjectScopes: [] }, "SCOPE_NOT_GRANTED", "invalid_scope"],
  [
    "a scope that the policy does not have",
    { policies: [{ ...policy, scopes: ["notes.write"] }] },
    "SCOPE_NOT_GRANTED",
    "invalid_scope",
  ],
  [
    "a scope above the actor's ceiling",
    { actor: { ...question.actor, scopes: ["notes.write"] } },
    "SCOPE_NOT_GRANTED",
    "invalid_scope",
  ],
  ["one scope too many", { scopes: ["notes.read", "notes.admin"] }, "SCOPE_NOT_GRANTED", "invalid_scope"],
  ["no scope", { scopes: [] }, "SCOPE_NOT_GRANTED", "invalid_scope"],
  ["an audience that no policy has", { audience: "svc-mail" }, "AUDIENCE_NOT_ALLOWED", "invalid_target"],
  [
    "an audience that the actor may not call",
    { actor: { ...question.actor, allowedAudiences: [] } },
    "AUDIENCE_NOT_ALLOWED",
    "invalid_target",
  ],
  [
    "the issuer's own audience, though policy and actor have it",
    { audience: "auth", audienceScopes: ["auth.x"], scopes: ["auth.x"] },
    "AUDIENCE_NOT_ALLOWED",
    "invalid_target",
  ],
  ["a scope of another audience", { audienceScopes: ["notes.write"] }, "SCOPE_NOT_GRANTED", "invalid_scope"],
  ["a token in which somebody acts already", subject(delegatedToken), "DELEGATION_CHAIN_TOO_DEEP", "access_denied"],
  ["a token that is about to expire", subject(token({ exp: now })), "TOKEN_EXPIRED", "invalid_grant"],
]

describe("no exchange", () => {
  test.each(inOrder)("for %s", (_, change, reason, error) => {
    expect(decide(change)).toEqual({ refuse: true, reason, error })
  })

  test("reports the first check that fails", () => {
    const indexed = inOrder.map(([name, change, reason], index) => ({ name, change, reason, index }))
    for (const first of indexed) {
      for (const later of indexed.filter(({ index }) => index > first.index)) {
        // If two rows change one field, the earlier row's value applies.
        const { reason } = { reason: "none", ...decide({ ...later.change, ...first.change }) }
        const at = indexed.filter((row) => row.reason === reason).map(({ index }) => index)
        expect(Math.min(...at), `${first.name}, then ${later.name}`).toBeLessThanOrEqual(first.index)
      }
    }
  })

  test.each<[string, StandingDelegation | undefined]>([
    ["that does not exist", undefined],
    ["that was given to another service", { ...standing, actorPrincipalId: otherId }],
    ["that was revoked", { ...standing, revokedAtMs: 5 }],
    ["that has expired", { ...standing, expiresAtMs: nowMs }],
    ["under a policy that has ended", { ...standing, policyId: newId("dpo", 3, random(9)) }],
  ])("under a standing delegation %s: one answer for all", (_, delegation) => {
    const refused = { refuse: true, reason: "DELEGATION_EXPIRED", error: "invalid_grant" }
    expect(decide({ subject: { is: "delegation", delegation } })).toEqual(refused)
  })

  test("under a standing delegation that expires within a second", () => {
    const delegation = { ...standing, expiresAtMs: nowMs + 999 }
    expect(decide({ subject: { is: "delegation", delegation } })).toMatchObject({ reason: "DELEGATION_EXPIRED" })
  })

  test("under a standing delegation that the policy no longer allows", () => {
    const change = {
      subject: { is: "delegation", delegation: standing },
      policies: [{ ...policy, allowStanding: false }],
    } as const
    expect(decide(change)).toMatchObject({ reason: "DELEGATION_EXPIRED" })
  })

  test("under the standing policy of another service", () => {
    const change = {
      subject: { is: "delegation", delegation: standing },
      policies: [
        { ...policy, actorPrincipalId: otherId },
        { ...policy, id: otherPolicy, allowStanding: false },
      ],
    } as const
    expect(decide(change)).toMatchObject({ reason: "DELEGATION_EXPIRED" })
  })

  test("under a policy that the standing delegation does not name", () => {
    const change = { subject: { is: "delegation", delegation: standing } } as const
    const named = { ...policy, id: otherPolicy }
    const delegation = { ...standing, policyId: otherPolicy }
    // Both policies would suffice for a token. A delegation may only use the one that it names, at any position in the
    // list.
    expect(decide({ subject: { is: "delegation", delegation }, policies: [policy, named] })).toMatchObject({
      refuse: false,
      policy: { id: otherPolicy },
    })
    const narrow = { ...policy, audiences: ["svc-mail"] }
    expect(decide({ ...change, policies: [narrow, named] })).toMatchObject({ reason: "AUDIENCE_NOT_ALLOWED" })
    const readsNothing = { ...policy, scopes: ["notes.write"] }
    expect(decide({ ...change, policies: [readsNothing, named] })).toMatchObject({ reason: "AUDIENCE_NOT_ALLOWED" })
  })

  test("beyond the standing delegation, though the policy has more", () => {
    const change = { subject: { is: "delegation", delegation: standing } } as const
    expect(decide(change)).toMatchObject({ refuse: false })
    expect(decide({ ...change, scopes: ["notes.write"] })).toMatchObject({ reason: "SCOPE_NOT_GRANTED" })
    expect(decide({ ...change, audience: "svc-mail" })).toMatchObject({ reason: "AUDIENCE_NOT_ALLOWED" })
  })

  test("wider than the user's token for the same audience", () => {
    const own = { ...question.actor, ownedAudiences: ["svc-notes"] }
    const change = { actor: own, ...subject(token({ aud: "svc-notes", scp: ["notes.write"] })) }
    expect(decide(change)).toMatchObject({ reason: "SCOPE_NOT_GRANTED" })
    expect(decide({ ...change, scopes: ["notes.write"] })).toMatchObject({ refuse: false })
  })
})

test("no scope is granted beyond those of subject, policy, actor and request", () => {
  const names = ["a", "b", "c", "d"]
  const targets = ["x", "y", "auth"]
  // Often all of them, so that grants are frequent.
  const some = fc.oneof({ weight: 2, arbitrary: fc.constant(names) }, { weight: 1, arbitrary: fc.subarray(names) })
  const audiences = fc.oneof(fc.constant(targets), fc.subarray(targets))
  const facts = fc.record({
    asked: fc.subarray(names, { maxLength: 2 }),
    held: some,
    ceiling: some,
    known: some,
    policies: fc.array(fc.record({ scopes: some, audiences }), { maxLength: 3 }),
    allowed: audiences,
    audience: fc.constantFrom(...targets),
  })
  let granted = 0
  fc.assert(
    fc.property(facts, (of) => {
      const decision = decide({
        actor: { ...question.actor, scopes: of.ceiling, allowedAudiences: of.allowed },
        policies: of.policies.map((each) => ({ ...policy, ...each })),
        subjectScopes: of.held,
        audienceScopes: of.known,
        audience: of.audience,
        scopes: of.asked,
      })
      if (decision.refuse) return
      granted++
      expect(decision.scopes).toEqual(of.asked)
      for (const scope of decision.scopes) {
        expect([of.held, of.ceiling, of.known, decision.policy.scopes].every((all) => all.includes(scope))).toBe(true)
      }
      expect(decision.policy.audiences).toContain(of.audience)
      expect(of.allowed).toContain(of.audience)
      expect(of.audience).not.toBe("auth")
      expect(decision.lifetimeSeconds).toBeLessThanOrEqual(300)
    }),
    { numRuns: effort(1_000, 20_000, 100_000) },
  )
  // A property that never grants proves nothing.
  expect(granted).toBeGreaterThan(50)
})
