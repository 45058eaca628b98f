import fc from "fast-check"
import { expect, test } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import { parseClaims } from "../token/claims.ts"
import { authorize } from "./authorize.ts"
import type { AuthContext } from "./context.ts"
import { contextOf } from "./context.ts"
import type { PermissionSnapshot } from "./effective.ts"
import { type Explained, explain } from "./explain.ts"
import type { Question } from "./question.ts"
import type { Requirement, Requirements } from "./requirement.ts"
import {
  alive,
  delegated,
  delegatedClaims,
  question,
  resource,
  service,
  serviceClaims,
  snapshotOf,
  user,
  userClaims,
} from "./testing.ts"

const names = ["a.b.c", "a.b.d", "a.b.e"] as const
const name = fc.constantFrom(...names)

const options = fc.record(
  {
    maxAuthAgeSeconds: fc.constantFrom(0, 5, 60),
    allowDelegated: fc.boolean(),
    freshness: fc.record({
      maxStalenessMs: fc.constantFrom(0, 50_000),
      onStale: fc.constantFrom("DENY", "INTROSPECT", "ALLOW"),
    }),
  },
  { requiredKeys: [] },
)

const leaf: fc.Arbitrary<Requirement> = fc.oneof(
  name.map((scope) => ({ is: "scope", scope }) as const),
  name.map((action) => ({ is: "action", action }) as const),
  name.map((action) => ({ is: "resourceAction", action, type: "note", from: "BODY", field: "id" }) as const),
  fc.constantFrom<Requirement>({ is: "kinds", of: ["USER"] }, { is: "kinds", of: ["SERVICE", "AGENT"] }),
  fc.constantFrom<Requirement>({ is: "tenant", from: "TOKEN", field: "" }, { is: "tenant", from: "BODY", field: "t" }),
  fc.constantFrom<Requirement>(
    { is: "delegated", actors: ["svc-mail"] },
    { is: "delegated", actors: ["svc-x", "svc-mail"] },
  ),
)

const requirement: fc.Arbitrary<Requirement> = fc.letrec<{ tree: Requirement }>((tie) => {
  const of = fc.array(tie("tree"), { minLength: 1, maxLength: 3 }).map(([first, ...rest]): Requirements => {
    if (first === undefined) throw new Error("minLength")
    return [first, ...rest]
  })
  return {
    tree: fc
      .tuple(
        fc.oneof(
          { depthSize: "small", withCrossShrink: true },
          leaf,
          of.map((parts) => ({ is: "anyOf", of: parts }) as const),
          of.map((parts) => ({ is: "allOf", of: parts }) as const),
        ),
        options,
      )
      .map(([check, own]): Requirement => ({ ...check, ...own })),
  }
}).tree

const subset = fc.subarray([...names])

const call: fc.Arbitrary<Question> = fc
  .record({
    caller: fc.constantFrom(user, user, service, delegated),
    scopes: subset,
    usable: subset,
    granted: subset,
    grant: fc.constantFrom({}, { tenantId: user.tenantId }, { resource: { type: "note", id: "n1" } }),
    inheritable: fc.boolean(),
    isFound: fc.boolean(),
    tenant: fc.constantFrom(user.tenantId, "ten_other", null),
    isKnown: fc.boolean(),
    lateMs: fc.constantFrom(0, 20_000, 55_000, 100_000),
    requirement,
  })
  .map((of) => ({
    ...question,
    context: { ...of.caller, scopes: new Set(of.scopes) },
    requirement: of.requirement,
    request: {
      tenants: new Map(of.tenant === null ? [] : [["BODY t", of.tenant]]),
      resources: new Map(of.isFound ? [["note BODY id", resource]] : []),
    },
    snapshot: {
      ...snapshotOf(of.grant, { permissions: of.granted, inheritable: of.inheritable }),
      // Each scope allows the usable permissions.
      scopes: new Map(names.map((name) => [name, new Set(of.usable)])),
    },
    ...(of.isKnown ? alive() : { liveness: "unknown" as const }),
    nowMs: question.nowMs + of.lateMs,
  }))

function without(set: ReadonlySet<string>, name: string): ReadonlySet<string> {
  return new Set([...set].filter((member) => member !== name))
}

type Removal = (call: Question, context: AuthContext) => Partial<Question>

const changing =
  (change: (snapshot: PermissionSnapshot, nowMs: number) => PermissionSnapshot): Removal =>
  ({ snapshot, nowMs }) => ({ snapshot: snapshot && change(snapshot, nowMs) })

const mapped = <T>(map: ReadonlyMap<string, T>, change: (value: T) => T): ReadonlyMap<string, T> =>
  new Map([...map].map(([key, value]) => [key, change(value)]))

// Does not reduce authority for requirements that check grants: it selects the grants of another place, which may allow
// more.
const outOfTenant: Removal = (_, context) => ({ context: { ...context, tenantId: null } })

function asksForGrants(requirement: Requirement): boolean {
  if (requirement.is === "anyOf" || requirement.is === "allOf") return requirement.of.some(asksForGrants)
  return requirement.is === "action"
}

const removals: readonly Removal[] = [
  ...names.flatMap((gone): Removal[] => [
    (_, context) => ({ context: { ...context, scopes: without(context.scopes, gone) } }),
    changing(({ roles, ...rest }) => ({
      ...rest,
      roles: mapped(roles, (role) => ({ ...role, permissions: without(role.permissions, gone) })),
    })),
    changing(({ scopes, ...rest }) => ({ ...rest, scopes: mapped(scopes, (usable) => without(usable, gone)) })),
    changing(({ scopes, ...rest }) => ({ ...rest, scopes: new Map([...scopes].filter(([scope]) => scope !== gone)) })),
  ]),
  changing((snapshot) => ({ ...snapshot, grants: [] })),
  changing((snapshot) => ({ ...snapshot, roles: new Map() })),
  changing((snapshot, nowMs) => ({
    ...snapshot,
    grants: snapshot.grants.map((grant) => ({ ...grant, expiresAtMs: nowMs })),
  })),
  changing(({ roles, ...rest }) => ({ ...rest, roles: mapped(roles, (role) => ({ ...role, inheritable: false })) })),
  () => ({ snapshot: null }),
  ({ request }) => ({ request: { ...request, resources: new Map() } }),
  ({ request }) => ({ request: { ...request, tenants: new Map() } }),
  outOfTenant,
  (_, context) => ({ context: { ...context, authTimeMs: null } }),
  (_, context) => ({ context: { ...context, authTimeMs: (context.authTimeMs ?? 0) - 30_000 } }),
  () => alive({ principal: "SUSPENDED" }),
  () => alive({ membership: "SUSPENDED" }),
  () => alive({}, { status: "REVOKED" }),
  ...(["PRINCIPAL", "SESSION", "CREDENTIAL", "TOKEN"] as const).map(
    (kind): Removal =>
      () =>
        alive({ revoked: [kind] }),
  ),
  ({ nowMs }) => ({ nowMs: nowMs + 50_000 }),
  (_, context) => ({
    context: {
      ...context,
      delegation: context.delegation && { ...context.delegation, actorClientId: "svc-unknown" },
    },
  }),
  () => ({ context: "NO_CREDENTIAL" as const }),
]

test("removing authority never turns deny into allow", () => {
  let denied = 0
  let allowed = 0
  fc.assert(
    fc.property(call, fc.constantFrom(...removals), (before, remove) => {
      if (typeof before.context === "string") throw new Error("a context")
      fc.pre(remove !== outOfTenant || !asksForGrants(before.requirement))
      const decision = authorize(before)
      if (decision.allow) allowed++
      else denied++
      const after = authorize({ ...before, ...remove(before, before.context) })
      if (!decision.allow) expect(after.allow).toBe(false)
    }),
    { numRuns: effort(1_500, 20_000, 100_000) },
  )
  // Both outcomes must be frequent, or the property proves nothing.
  expect(denied).toBeGreaterThan(50)
  expect(allowed).toBeGreaterThan(50)
})

function reversed(requirement: Requirement): Requirement {
  if (requirement.is !== "anyOf" && requirement.is !== "allOf") return requirement
  const [first, ...rest] = requirement.of.map(reversed).reverse()
  return first === undefined ? requirement : { ...requirement, of: [first, ...rest] }
}

test("the order of parts changes neither the decision nor the step, only which reason is reported", () => {
  fc.assert(
    fc.property(call, (question) => {
      const [one, other] = [
        authorize(question),
        authorize({ ...question, requirement: reversed(question.requirement) }),
      ]
      expect(other.allow).toBe(one.allow)
      if (one.allow || other.allow) return
      expect(other.step).toBe(one.step)
      expect(other.statusCode).toBe(one.statusCode)
      expect(other.introspect).toBe(one.introspect)
    }),
    { numRuns: effort(1_500, 20_000, 100_000) },
  )
})

test("without an actor, allOf is the conjunction and anyOf the disjunction of its parts", () => {
  fc.assert(
    fc.property(call, fc.array(requirement, { minLength: 1, maxLength: 4 }), (question, parts) => {
      if (typeof question.context === "string" || question.context.actor !== null) return
      const [first, ...rest] = parts
      if (first === undefined) return
      const alone = parts.map((requirement) => authorize({ ...question, requirement }).allow)
      const of: Requirements = [first, ...rest]
      expect(authorize({ ...question, requirement: { is: "allOf", of } }).allow).toBe(alone.every(Boolean))
      expect(authorize({ ...question, requirement: { is: "anyOf", of } }).allow).toBe(alone.some(Boolean))
    }),
    { numRuns: effort(1_500, 20_000, 100_000) },
  )
})

test("a delegated call passes an anyOf only through a part that passes alone", () => {
  fc.assert(
    fc.property(call, fc.array(requirement, { minLength: 1, maxLength: 4 }), (question, parts) => {
      const [first, ...rest] = parts
      if (first === undefined) return
      const context = { ...delegated, scopes: new Set(names) }
      const alone = parts.map((requirement) => authorize({ ...question, context, requirement }).allow)
      const decision = authorize({ ...question, context, requirement: { is: "anyOf", of: [first, ...rest] } })
      expect(decision.allow).toBe(alone.some(Boolean))
    }),
    { numRuns: effort(1_000, 20_000, 100_000) },
  )
})

test("unknown claims change nothing", () => {
  const unknown = fc.dictionary(
    fc.string().map((text) => `x_${text}`),
    fc.jsonValue(),
  )
  const claims = fc.constantFrom(userClaims, serviceClaims, delegatedClaims)
  fc.assert(
    fc.property(call, claims, unknown, (question, known, more) => {
      const payload = { ...known, ...more }
      const parsed = parseClaims(payload)
      if (typeof parsed === "string") throw new Error(parsed)
      const [plain, extended] = [contextOf(known), contextOf(parsed, payload)]
      const [one, other] = [authorize({ ...question, context: plain }), authorize({ ...question, context: extended })]
      expect(other.allow).toBe(one.allow)
      if (!one.allow) expect(other).toEqual(one)
    }),
  )
})

/** The checks that an explanation marks as decisive. */
function decisiveIn(part: Explained | undefined): readonly Explained[] {
  if (part?.isDecisive !== true) return []
  return part.of.length === 0 ? [part] : part.of.flatMap(decisiveIn)
}

test("an explanation states the decision and marks one decisive check", () => {
  fc.assert(
    fc.property(call, (question) => {
      const { decision, requirement } = explain(question)
      expect(decision).toEqual(authorize(question))
      const decisive = decisiveIn(requirement).map(({ failed }) => failed)
      const isRefused = !decision.allow && requirement?.holds === false
      expect(decisive).toEqual(isRefused ? [{ step: decision.step, reason: decision.trueReason }] : [])
    }),
    { numRuns: effort(500, 20_000, 100_000) },
  )
})

test("the authorizer never throws", () => {
  fc.assert(
    fc.property(call, fc.jsonValue(), (question, anything) => {
      const broken = JSON.parse(JSON.stringify({ requirement: anything }))
      const decision = authorize({ ...question, ...broken })
      expect(decision.allow).toBe(false)
      expect(explain({ ...question, ...broken }).decision).toEqual(decision)
    }),
  )
})
