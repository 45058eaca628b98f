import { describe, expect, test } from "vitest"
import type { Reason } from "../errors.ts"
import { newId } from "../ids.ts"
import { authorize } from "./authorize.ts"
import type { HeldGrant } from "./grants.ts"
import type { Question } from "./question.ts"
import type { Requirement } from "./requirement.ts"
import { alive, delegated, question, resource, service, snapshotOf, user } from "./testing.ts"

const scope = (name: string): Requirement => ({ is: "scope", scope: name })
const users: Requirement = { is: "kinds", of: ["USER"] }
const device = (proof: boolean): Requirement => ({ is: "device", proof })
const services: Requirement = { is: "kinds", of: ["SERVICE"] }
const edit: Requirement = { is: "resourceAction", action: "notes.note.edit", type: "note", from: "BODY", field: "id" }
const byMail: Requirement = { is: "delegated", actors: ["svc-mail"] }
const tenant: Requirement = { is: "tenant", from: "BODY", field: "tenant_id" }
const resources = (change: object = {}) => new Map([["note BODY id", { ...resource, ...change }]])
const snapshot = snapshotOf()

function decide(change: Partial<Question>) {
  return authorize({ ...question, ...change })
}

describe("the nine steps", () => {
  test.each<[string, Partial<Question>, Reason, number, number]>([
    ["1: no credential", { context: "NO_CREDENTIAL" }, "NO_CREDENTIAL", 401, 1],
    ["1: a personal access token", { context: "PAT_NOT_BEARER" }, "PAT_NOT_BEARER", 401, 1],
    ["2: a token that did not verify", { context: "SIGNATURE_INVALID" }, "SIGNATURE_INVALID", 401, 2],
    ["2: another issuer", { expected: { ...question.expected, issuer: "x" } }, "ISSUER_MISMATCH", 401, 2],
    ["2: another audience", { expected: { ...question.expected, audience: "x" } }, "AUDIENCE_MISMATCH", 401, 2],
    ["3: a suspended principal", alive({ principal: "SUSPENDED" }), "PRINCIPAL_INACTIVE", 401, 3],
    ["3: a principal that is not there", alive({ principal: undefined }), "PRINCIPAL_INACTIVE", 401, 3],
    ["3: an identity to be deleted", alive({ identity: "DELETION_PENDING" }), "IDENTITY_INACTIVE", 401, 3],
    ["3: an identity that is not there", alive({ identity: undefined }), "IDENTITY_INACTIVE", 401, 3],
    ["3: a session that ended", alive({}, { status: "REVOKED" }), "SESSION_REVOKED", 401, 3],
    ["3: a session whose token was copied", alive({}, { status: "COMPROMISED" }), "SESSION_REVOKED", 401, 3],
    ["3: a session that is not there", alive({ session: undefined }), "SESSION_REVOKED", 401, 3],
    ["3: an idle session", alive({}, { idleExpiresAtMs: question.nowMs }), "SESSION_EXPIRED", 401, 3],
    ["3: an old session", alive({}, { absoluteExpiresAtMs: question.nowMs }), "SESSION_EXPIRED", 401, 3],
    ["3: a principal that was revoked", alive({ revoked: ["PRINCIPAL"] }), "PRINCIPAL_INACTIVE", 401, 3],
    ["3: a session that was revoked elsewhere", alive({ revoked: ["SESSION"] }), "SESSION_REVOKED", 401, 3],
    ["3: a revoked credential", alive({ revoked: ["TOKEN", "CREDENTIAL"] }), "CREDENTIAL_REVOKED", 401, 3],
    ["3: a revoked token", alive({ revoked: ["TOKEN"] }), "TOKEN_REVOKED", 401, 3],
    [
      "3: a delegated token whose user signed out",
      { context: delegated, ...alive({}, { status: "REVOKED" }) },
      "SESSION_REVOKED",
      401,
      3,
    ],
    [
      "3: a delegated token whose service is suspended",
      { context: delegated, ...alive({ actor: "SUSPENDED" }) },
      "PRINCIPAL_INACTIVE",
      401,
      3,
    ],
    ["3: stale facts", { ...alive(), nowMs: question.nowMs + 60_001 }, "REVOCATION_STATE_STALE", 401, 3],
    ["3: a token without a device", { requirement: device(false) }, "DEVICE_REQUIRED", 401, 3],
    ["3: and where the device proves itself", { requirement: device(true) }, "DEVICE_REQUIRED", 401, 3],
    ["4: another app's route", { request: { appId: newId("app", 9, new Uint8Array(10)) } }, "APP_MISMATCH", 403, 4],
    ["4: a suspended app", alive({ app: "SUSPENDED" }), "TENANT_SUSPENDED", 403, 4],
    ["4: an app that is not there", alive({ app: undefined }), "TENANT_SUSPENDED", 403, 4],
    ["4: a suspended tenant", alive({ tenant: "SUSPENDED" }), "TENANT_SUSPENDED", 403, 4],
    ["4: an archived tenant", alive({ tenant: "ARCHIVED" }), "TENANT_SUSPENDED", 403, 4],
    ["4: a tenant that is not there", alive({ tenant: undefined }), "TENANT_SUSPENDED", 403, 4],
    ["4: a suspended context", alive({ context: "SUSPENDED" }), "TENANT_SUSPENDED", 403, 4],
    ["4: a context that is not there", alive({ context: undefined }), "TENANT_SUSPENDED", 403, 4],
    ["4: a suspended membership", alive({ membership: "SUSPENDED" }), "MEMBERSHIP_INACTIVE", 403, 4],
    ["4: no membership", alive({ membership: undefined }), "MEMBERSHIP_INACTIVE", 403, 4],
    [
      "4: a token without a tenant",
      { requirement: tenant, context: { ...user, tenantId: null } },
      "TENANT_REQUIRED",
      403,
      4,
    ],
    [
      "4: another tenant",
      { requirement: tenant, request: { tenants: new Map([["BODY tenant_id", "ten_x"]]) } },
      "TENANT_MISMATCH",
      403,
      4,
    ],
    ["4: no tenant named", { requirement: tenant }, "TENANT_MISMATCH", 403, 4],
    ["4: a resource that was not found", { requirement: edit }, "RESOURCE_UNRESOLVED", 403, 4],
    ["5: a user where services call", { requirement: services }, "PRINCIPAL_KIND_NOT_ALLOWED", 403, 5],
    ["5: a service where users call", { requirement: users, context: service }, "PRINCIPAL_KIND_NOT_ALLOWED", 403, 5],
    ["6: no scope", { requirement: scope("notes.write") }, "MISSING_SCOPE", 403, 6],
    ["6: no permission", { requirement: { is: "action", action: "notes.note.delete" } }, "MISSING_PERMISSION", 403, 6],
    ["6: signed in too long ago", { requirement: { ...users, maxAuthAgeSeconds: 9 } }, "STEP_UP_REQUIRED", 403, 6],
    [
      "7: no grant",
      {
        requirement: edit,
        request: { resources: resources() },
        snapshot: snapshotOf({ resource: { type: "note", id: "n2" } }),
      },
      ...(["RESOURCE_NOT_GRANTED", 403, 7] as const),
    ],
    ["8: nobody acts", { requirement: byMail }, "ACTOR_REQUIRED", 403, 8],
    [
      "8: another actor",
      { requirement: { ...byMail, actors: ["svc-x"] }, context: delegated },
      "ACTOR_NOT_ALLOWED",
      403,
      8,
    ],
    [
      "8: an actor where none is expected",
      { requirement: scope("notes.read"), context: delegated },
      "ACTOR_NOT_ALLOWED",
      403,
      8,
    ],
    [
      "8: another job",
      { requirement: byMail, context: delegated, request: { jobId: "job-2" } },
      "JOB_MISMATCH",
      403,
      8,
    ],
  ])("%s", (_, change, reason, statusCode, step) => {
    expect(decide(change)).toMatchObject({ allow: false, reason, statusCode, step })
  })

  test.each<[string, Partial<Question>]>([
    ["a scope", { requirement: scope("notes.read") }],
    ["a permission", { requirement: { is: "action", action: "notes.note.edit" }, snapshot }],
    ["a kind", { requirement: { is: "kinds", of: ["SERVICE", "USER"] } }],
    [
      "the tenant that is named",
      { requirement: tenant, request: { tenants: new Map([["BODY tenant_id", user.tenantId ?? ""]]) } },
    ],
    ["the token's own tenant", { requirement: { is: "tenant", from: "TOKEN", field: "" } }],
    ["a granted resource", { requirement: edit, request: { resources: resources() }, snapshot }],
    ["the actor that is expected, by client id", { requirement: byMail, context: delegated }],
    [
      "the actor that is expected, by principal id",
      { requirement: { ...byMail, actors: [service.principal.id] }, context: delegated },
    ],
    ["any actor where one is taken", { requirement: { ...users, allowDelegated: true }, context: delegated }],
    [
      "a service, which has no membership",
      { requirement: services, context: service, ...alive({ membership: undefined, identity: undefined }) },
    ],
    ["a device", { requirement: device(true), context: { ...user, deviceId: newId("dev", 9, new Uint8Array(10)) } }],
    ["a recent sign-in", { requirement: { ...users, maxAuthAgeSeconds: 10 } }],
    ["the route's own app", { request: { appId: user.appId } }],
  ])("9: %s is allowed", (_, change) => {
    const decision = decide(change)
    expect(decision).toEqual({ allow: true, context: change.context ?? user })
  })

  test("an earlier failed step is reported before a later one", () => {
    const worse: Partial<Question>[] = [
      { context: "NO_CREDENTIAL" },
      { expected: { issuer: "x", audience: "x" } },
      alive({ principal: "LOCKED", app: "ARCHIVED" }),
      { ...alive({ app: "ARCHIVED" }), nowMs: question.nowMs + 60_001 },
      alive({ app: "ARCHIVED" }),
      {},
      { snapshot: null },
    ]
    const requirement: Requirement = {
      is: "allOf",
      of: [byMail, { ...scope("notes.write") }, { is: "kinds", of: ["SERVICE"] }],
    }
    const steps = worse.map((change) => {
      const decision = decide({ ...change, requirement })
      return decision.allow ? 9 : decision.step
    })
    expect(steps).toEqual([1, 2, 3, 3, 4, 5, 5])
  })
})

describe("a resource", () => {
  test.each<[Reason, object]>([
    ["APP_MISMATCH", { appId: newId("app", 9, new Uint8Array(10)) }],
    ["TENANT_MISMATCH", { tenantId: newId("ten", 9, new Uint8Array(10)) }],
    ["TENANT_MISMATCH", { tenantId: null }],
    ["CONTEXT_MISMATCH", { contextId: newId("ctx", 9, new Uint8Array(10)) }],
  ])("of another owner gets the answer for a missing one, and the audit records %s", (trueReason, change) => {
    const none = decide({ requirement: edit, snapshot })
    const foreign = decide({ requirement: edit, snapshot, request: { resources: resources(change) } })
    expect(none).toMatchObject({ reason: "RESOURCE_UNRESOLVED", trueReason: "RESOURCE_UNRESOLVED" })
    expect(foreign).toEqual({ ...none, trueReason })
  })

  test("of another type is unresolved", () => {
    expect(
      decide({ requirement: edit, snapshot, request: { resources: resources({ type: "folder" }) } }),
    ).toMatchObject({
      reason: "RESOURCE_UNRESOLVED",
    })
  })

  const note = { type: "note", id: "n1" }
  const own = { tenantId: user.tenantId }
  const context = { contextId: newId("ctx", 9, new Uint8Array(10)) }

  test.each<[string, Partial<HeldGrant>, Parameters<typeof snapshotOf>[1], Reason | "allow"]>([
    ["on the app", {}, {}, "allow"],
    ["on the tenant", own, {}, "allow"],
    ["on this resource", { resource: note }, {}, "allow"],
    ["on such a resource of no tenant", { tenantId: null, resource: note }, {}, "MISSING_PERMISSION"],
    ["on this resource, of what is not inherited", { resource: note }, { inheritable: false }, "allow"],
    ["on the app, of what is not inherited", {}, { inheritable: false }, "MISSING_PERMISSION"],
    ["on the tenant, of what is not inherited", own, { inheritable: false }, "RESOURCE_NOT_GRANTED"],
    ["on another resource", { resource: { ...note, id: "n2" } }, {}, "RESOURCE_NOT_GRANTED"],
    ["on another type's resource of this id", { resource: { ...note, type: "folder" } }, {}, "RESOURCE_NOT_GRANTED"],
    ["on another tenant", { tenantId: newId("ten", 9, new Uint8Array(10)) }, {}, "MISSING_PERMISSION"],
    ["on a context", { ...own, ...context }, {}, "MISSING_PERMISSION"],
    ["on this resource, in another context", { ...context, resource: note }, {}, "MISSING_PERMISSION"],
    ["on another app", { appId: newId("app", 9, new Uint8Array(10)) }, {}, "MISSING_PERMISSION"],
    ["of another role", { roleId: "rol_2" }, {}, "MISSING_PERMISSION"],
    ["of another permission", {}, { permissions: ["notes.note.read"] }, "MISSING_PERMISSION"],
    ["that no scope of the token lets use", {}, { scopes: ["notes.write"] }, "MISSING_PERMISSION"],
    ["that ends later", { expiresAtMs: question.nowMs + 1 }, {}, "allow"],
    ["that has ended", { expiresAtMs: question.nowMs }, {}, "MISSING_PERMISSION"],
  ])("with a grant %s: %s", (_, change, of, expected) => {
    const request = { resources: resources() }
    const decision = decide({ requirement: edit, request, snapshot: snapshotOf(change, of) })
    expect(decision.allow ? "allow" : decision.reason).toBe(expected)
  })

  test("is checked for its place before grants", () => {
    const request = { resources: resources({ tenantId: newId("ten", 9, new Uint8Array(10)) }) }
    expect(decide({ requirement: edit, request, snapshot: null })).toMatchObject({ step: 4 })
    expect(decide({ requirement: edit, request, snapshot })).toMatchObject({ step: 4 })
  })
})

describe("freshness", () => {
  const requirement: Requirement = { ...users, freshness: { maxStalenessMs: 10_000, onStale: "INTROSPECT" } }

  test("without liveness facts, the facts are as old as the token", () => {
    expect(decide({ requirement, liveness: "unknown", nowMs: user.issuedAtMs + 10_000 }).allow).toBe(true)
    expect(decide({ requirement, liveness: "unknown", nowMs: user.issuedAtMs + 10_001 })).toMatchObject({
      reason: "REVOCATION_STATE_STALE",
      introspect: true,
    })
  })

  test("any part that asks for introspection sets the flag, whichever failure is reported", () => {
    const nowMs = question.nowMs + 60_001
    const lax = { ...scope("a"), freshness: { maxStalenessMs: 0, onStale: "ALLOW" } } as const
    expect(decide({ ...alive(), nowMs, requirement: { is: "anyOf", of: [lax, requirement] } })).toMatchObject({
      reason: "MISSING_SCOPE",
      introspect: true,
    })
    expect(decide({ ...alive(), nowMs, requirement: lax })).toMatchObject({ introspect: false })
  })

  test("known revocations apply at any age", () => {
    const allow = { maxStalenessMs: 0, onStale: "ALLOW" } as const
    expect(
      decide({
        ...alive({}, { status: "REVOKED" }),
        requirement: { ...users, freshness: allow },
        nowMs: question.nowMs + 1,
      }),
    ).toMatchObject({ reason: "SESSION_REVOKED" })
  })
})

describe("a delegation", () => {
  const of = (change: object) => ({
    ...delegated,
    delegation: delegated.delegation && { ...delegated.delegation, ...change },
  })

  test.each<[string, object, Reason]>([
    ["has ended", { expiresAtMs: question.nowMs - 30_000 }, "DELEGATION_EXPIRED"],
    ["is four services deep", { depth: 4 }, "DELEGATION_CHAIN_TOO_DEEP"],
  ])("that %s is refused, named or not", (_, change, reason) => {
    expect(decide({ requirement: byMail, context: of(change) })).toMatchObject({ reason })
    expect(decide({ requirement: { ...users, allowDelegated: true }, context: of(change) })).toMatchObject({ reason })
  })

  test("ends with the user's session", () => {
    expect(decide({ requirement: byMail, context: delegated, ...alive({}, { status: "REVOKED" }) })).toMatchObject({
      reason: "SESSION_REVOKED",
    })
  })

  test("never satisfies a step-up: its token does not say when the user signed in", () => {
    expect(decide({ requirement: { ...byMail, maxAuthAgeSeconds: 9_999 }, context: of({}) })).toMatchObject({
      reason: "STEP_UP_REQUIRED",
    })
  })
})

describe("public and body credentials", () => {
  test("public ignores the caller", () => {
    const requirement: Requirement = { is: "public" }
    for (const context of [user, delegated, "SIGNATURE_INVALID", "INTERNAL"] as const) {
      expect(decide({ requirement, context, ...alive({ principal: "DELETED" }) })).toEqual({
        allow: true,
        context: undefined,
      })
    }
  })

  test("a body credential needs no bearer token but passes a valid one on", () => {
    const requirement: Requirement = { is: "bodyCredential" }
    const contextFor = (change: Partial<Question>) => {
      const decision = decide({ requirement, ...change })
      return decision.allow ? decision.context : "denied"
    }
    expect(contextFor({})).toBe(user)
    expect(contextFor({ context: "NO_CREDENTIAL" })).toBeUndefined()
    expect(contextFor({ context: "TOKEN_EXPIRED" })).toBeUndefined()
    expect(contextFor({ expected: { ...question.expected, audience: "x" } })).toBeUndefined()
    expect(contextFor({ context: delegated })).toBeUndefined()
    expect(contextFor({ context: delegated, requirement: { ...requirement, allowDelegated: true } })).toBe(delegated)
    // Ending a session is idempotent, so the handler still receives the caller.
    expect(contextFor(alive({}, { status: "REVOKED" }))).toBe(user)
  })
})

test("an actor may act for its own job", () => {
  const jobId = delegated.delegation?.jobId ?? ""
  expect(decide({ requirement: byMail, context: delegated, request: { jobId } })).toMatchObject({ allow: true })
})

test("a denial states what is missing and nothing about the caller", () => {
  expect(decide({ requirement: scope("notes.write") })).toEqual({
    allow: false,
    reason: "MISSING_SCOPE",
    trueReason: "MISSING_SCOPE",
    statusCode: 403,
    safeMessage: "the access token does not have the required scope",
    metadata: { scope: "notes.write" },
    step: 6,
    introspect: false,
  })
})
