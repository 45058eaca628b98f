import { describe, expect, test } from "vitest"
import type { Reason } from "../errors.ts"
import { authorize } from "./authorize.ts"
import type { Question } from "./question.ts"
import type { Requirement } from "./requirement.ts"
import { alive, delegated, question } from "./testing.ts"

const scope = (name: string): Requirement => ({ is: "scope", scope: name })
const users: Requirement = { is: "kinds", of: ["USER"] }
const services: Requirement = { is: "kinds", of: ["SERVICE"] }
const byMail: Requirement = { is: "delegated", actors: ["svc-mail"] }
const tenant: Requirement = { is: "tenant", from: "BODY", field: "tenant_id" }

function decide(change: Partial<Question>) {
  return authorize({ ...question, ...change })
}

describe("composites", () => {
  const anyOf = (...of: [Requirement, ...Requirement[]]): Requirement => ({ is: "anyOf", of })
  const allOf = (...of: [Requirement, ...Requirement[]]): Requirement => ({ is: "allOf", of })

  test.each<[string, Requirement, Reason | "allow"]>([
    ["any: one is enough", anyOf(services, scope("notes.read")), "allow"],
    ["any: the one that got furthest is told", anyOf(services, scope("a"), tenant), "MISSING_SCOPE"],
    [
      "any: the first of those that got equally far",
      anyOf(scope("a"), { is: "action", action: "a.b.c" }),
      "MISSING_SCOPE",
    ],
    ["all: one is not enough", allOf(services, scope("notes.read")), "PRINCIPAL_KIND_NOT_ALLOWED"],
    ["all: the earliest step is told", allOf(byMail, scope("a"), services), "PRINCIPAL_KIND_NOT_ALLOWED"],
    [
      "all: the first of those of the same step",
      allOf({ is: "action", action: "a.b.c" }, scope("a")),
      "MISSING_PERMISSION",
    ],
    ["nested", allOf(users, anyOf(scope("a"), allOf(scope("notes.read"), users))), "allow"],
    ["all of any", allOf(anyOf(scope("a"), services), anyOf(byMail, services)), "MISSING_SCOPE"],
  ])("%s", (_, requirement, expected) => {
    const decision = decide({ requirement })
    expect(decision.allow ? "allow" : decision.reason).toBe(expected)
  })

  test("the status is 401 if every branch fails with 401, else 403", () => {
    const nowMs = question.nowMs + 60_001
    const fresh = { ...scope("notes.read"), freshness: { maxStalenessMs: 10, onStale: "DENY" } } as const
    const lax = { ...scope("a"), freshness: { maxStalenessMs: 10, onStale: "ALLOW" } } as const
    expect(decide({ ...alive(), nowMs, requirement: anyOf(fresh, users) })).toMatchObject({ statusCode: 401 })
    expect(decide({ ...alive(), nowMs, requirement: anyOf(fresh, lax) })).toMatchObject({ statusCode: 403 })
  })

  test.each<[string, Requirement, boolean]>([
    ["all of: one part names the actor", allOf(byMail, scope("notes.read")), true],
    ["any of: the part that holds does not", anyOf({ ...byMail, actors: ["svc-x"] }, scope("notes.read")), false],
    ["any of: the part that allows actors holds", anyOf(scope("a"), byMail), true],
    ["the composite allows actors", { ...anyOf(scope("a"), scope("notes.read")), allowDelegated: true }, true],
    [
      "the whole takes actors but not this one",
      { ...allOf({ ...byMail, actors: ["svc-x"] }), allowDelegated: true },
      false,
    ],
  ])("a delegated call: %s", (_, requirement, allow) => {
    expect(decide({ requirement, context: delegated }).allow).toBe(allow)
  })

  test.each<[string, Requirement]>([
    ["public", { is: "public" }],
    ["bodyCredential", { is: "bodyCredential" }],
  ])("%s inside one is a fault, and a fault is a denial", (_, requirement) => {
    for (const composite of [anyOf(requirement, users), allOf(requirement, users)]) {
      expect(decide({ requirement: composite })).toMatchObject({ allow: false, reason: "INTERNAL", statusCode: 500 })
    }
  })

  test.each(["anyOf", "allOf"] as const)("an empty %s is a fault", (is) => {
    const empty = JSON.parse(`{"is":"${is}","of":[]}`)
    expect(decide({ requirement: empty })).toMatchObject({ allow: false, reason: "INTERNAL", statusCode: 500 })
    expect(decide({ requirement: anyOf(empty, users) })).toMatchObject({ allow: false, reason: "INTERNAL" })
  })

  test("a requirement of no known kind is a fault", () => {
    expect(decide({ requirement: JSON.parse(`{"is":"nothing"}`) })).toMatchObject({ allow: false, reason: "INTERNAL" })
    expect(decide({ requirement: JSON.parse("{}") })).toMatchObject({ allow: false, reason: "INTERNAL" })
    expect(decide({ requirement: JSON.parse("null") })).toMatchObject({ allow: false, reason: "INTERNAL" })
  })

  test("options apply to all parts: the smallest maximum age, and the innermost freshness", () => {
    const inner = { ...users, maxAuthAgeSeconds: 60 }
    expect(decide({ requirement: { ...allOf(inner), maxAuthAgeSeconds: 9 } })).toMatchObject({
      reason: "STEP_UP_REQUIRED",
      metadata: { max_age: "9" },
    })
    expect(decide({ requirement: { ...allOf({ ...users, maxAuthAgeSeconds: 9 }), maxAuthAgeSeconds: 60 } }).allow).toBe(
      false,
    )
    const stale = { ...alive(), nowMs: question.nowMs + 60_001 }
    const lax = { maxStalenessMs: 0, onStale: "ALLOW" } as const
    expect(decide({ ...stale, requirement: { ...allOf(users), freshness: lax } }).allow).toBe(true)
    expect(decide({ ...stale, requirement: allOf({ ...users, freshness: lax }) }).allow).toBe(true)
    expect(decide({ ...stale, requirement: allOf(users, { ...users, freshness: lax }) }).allow).toBe(false)
  })
})
