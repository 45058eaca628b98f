import { describe, expect, test } from "vitest"
import { newId } from "../ids.ts"
import { explain } from "./explain.ts"
import { explanationText } from "./explain-text.ts"
import type { Question } from "./question.ts"
import type { Requirement } from "./requirement.ts"
import { alive, delegated, question, resource, snapshotOf, user } from "./testing.ts"

const users: Requirement = { is: "kinds", of: ["USER"] }
const services: Requirement = { is: "kinds", of: ["SERVICE"] }
const write: Requirement = { is: "scope", scope: "notes.write" }
const editor: Requirement = { is: "role", role: "editor" }
const edit: Requirement = { is: "resourceAction", action: "notes.note.edit", type: "note", from: "BODY", field: "id" }

/** Replaces ids by names. */
function textOf(change: Partial<Question>): string {
  return explanationText(explain({ ...question, ...change }))
    .replaceAll(user.principal.id, "ann")
    .replaceAll(user.appId, "app")
    .replaceAll(user.tenantId ?? "", "acme")
    .replaceAll(other, "other")
}
const other = newId("ten", 9, new Uint8Array(10))

describe("an explanation", () => {
  test("marks the decisive check among the failed ones", () => {
    expect(textOf({ requirement: { is: "allOf", of: [users, write, services] } })).toBe(
      [
        "PRINCIPAL_KIND_NOT_ALLOWED: 403, step 5, this kind of caller is not allowed",
        "  USER ann of app, tenant acme, with notes.read",
        "  ✗ all of",
        "    ✓ kinds(USER)",
        "        the caller is a USER",
        "    ✗ scope(notes.write): step 6, MISSING_SCOPE",
        "        the token has notes.read",
        "    ✗ kinds(SERVICE): step 5, PRINCIPAL_KIND_NOT_ALLOWED ← this decides",
        "        the caller is a USER",
      ].join("\n"),
    )
  })

  test("states for each grant whether it applies or why not", () => {
    const { grants: held, ...rest } = snapshotOf({ tenantId: user.tenantId }, { inheritable: false })
    const grants = held.flatMap((at) => [
      at,
      { ...at, tenantId: other },
      { ...at, roleId: "rol_9" },
      { ...at, expiresAtMs: question.nowMs },
      { ...at, resource: { type: "note", id: "n2" } },
    ])
    const request = { resources: new Map([["note BODY id", resource]]) }
    expect(textOf({ requirement: edit, request, snapshot: { ...rest, grants } })).toBe(
      [
        "RESOURCE_NOT_GRANTED: 403, step 7, the caller has no grant for this resource",
        "  USER ann of app, tenant acme, with notes.read",
        "  ✗ action(notes.note.edit on note from BODY id): step 7, RESOURCE_NOT_GRANTED ← this decides",
        "      note n1 is in app, tenant acme",
        "      notes.read lets the token use notes.note.edit",
        "      editor on app, tenant acme: it is not inherited",
        "      editor on app, tenant other: it is elsewhere",
        "      rol_9 on app, tenant acme: the role does not exist",
        "      editor on app, tenant acme: it has expired",
        "      editor on note n2 in app, tenant acme: it is elsewhere",
      ].join("\n"),
    )
  })

  test("states what each step before the decisive one found, and nothing of the steps after it", () => {
    const stepsOf = (change: Partial<Question>) => explain({ ...question, ...change }).passed
    const passed = stepsOf({ requirement: write, ...alive() })
    expect(passed.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5])
    expect(passed.flatMap(({ found }) => found).slice(2)).toEqual([
      `${user.principal.id} with ${user.sessionId} is active, and nothing is revoked`,
      `the token is of ${user.appId}, tenant ${user.tenantId}`,
      "the caller is a USER",
    ])
    const allowed = stepsOf({ requirement: { is: "scope", scope: "notes.read" } })
    expect(allowed.slice(5).map(({ found }) => found)).toEqual([
      ["the token has notes.read"],
      ["the call names no resource"],
      ["the call has no actor"],
    ])
    const unknown = stepsOf({ requirement: { is: "scope", scope: "notes.read" }, liveness: "unknown" })
    expect(unknown[2]?.found).toEqual(["only the token itself is known"])
    expect(stepsOf({ context: "TOKEN_EXPIRED" })).toEqual([{ step: 1, found: ["the call has one bearer token"] }])
    expect(stepsOf({ context: "NO_CREDENTIAL" })).toEqual([])
    expect(stepsOf({ requirement: { is: "public" } })).toEqual([])
    for (const malformed of [`{"is":"anyOf","of":[]}`, "null"]) {
      expect(stepsOf({ requirement: JSON.parse(malformed) })).toEqual([])
    }
  })

  test("for another tenant's resource shows the true reason, which the caller does not receive", () => {
    const request = { resources: new Map([["note BODY id", { ...resource, tenantId: other }]]) }
    const { decision, requirement } = explain({ ...question, requirement: edit, request })
    expect(decision).toMatchObject({ reason: "RESOURCE_UNRESOLVED" })
    expect(requirement?.failed?.reason).toBe("TENANT_MISMATCH")
  })

  test.each<[string, Partial<Question>, string]>([
    ["how old the sign-in is", { requirement: { ...users, maxAuthAgeSeconds: 5 } }, "the user signed in 10 s ago"],
    [
      "how old what is known is",
      { ...alive(), nowMs: question.nowMs + 61_000 },
      "what is known is 61 s old, and may be 60 s",
    ],
    ["which membership is suspended", alive({ membership: "SUSPENDED" }), "are ACTIVE, ACTIVE, none, SUSPENDED"],
    ["that nothing takes the actor", { context: delegated }, "✗ nothing that holds takes an actor ← this decides"],
    ["who acts", { context: delegated, requirement: { is: "delegated", actors: ["svc-x"] } }, "svc-mail acts, 1 deep"],
    ["that grants were not loaded", { requirement: editor, snapshot: null }, "the caller's grants were not loaded"],
    [
      "that a role does not exist",
      { requirement: editor, snapshot: snapshotOf({ roleId: "rol_9" }) },
      "rol_9 on app: the role does not exist",
    ],
    [
      "that a role is not inherited",
      { requirement: editor, snapshot: snapshotOf({}, { inheritable: false }) },
      "editor on app: it is not inherited",
    ],
    [
      "that a grant holds, although the token lacks the scope",
      {
        requirement: edit,
        context: { ...user, scopes: new Set<string>() },
        request: { resources: new Map([["note BODY id", resource]]) },
        snapshot: snapshotOf(),
      },
      "editor on app: holds",
    ],
    [
      "that a role holds, beside what fails",
      { requirement: { is: "allOf", of: [editor, services] }, snapshot: snapshotOf() },
      "editor on app: holds",
    ],
    [
      "which issuer the target trusts",
      { expected: { ...question.expected, issuer: "https://b.example" } },
      "the target trusts https://b.example",
    ],
    [
      "which audience the target is",
      { expected: { ...question.expected, audience: "svc-b" } },
      "the token is for svc-notes, the target is svc-b",
    ],
    ["that the caller is not active", alive({ principal: "SUSPENDED" }), "    ann is not active"],
    ["that the caller is locked", alive({ principal: "LOCKED" }), "    ann is not active"],
    ["that the caller's tokens were revoked", alive({ revoked: ["PRINCIPAL"] }), "    ann is not active"],
    [
      "that the actor is not active",
      { context: delegated, ...alive({ actor: "SUSPENDED" }) },
      `the actor ${delegated.actor?.id} is not active`,
    ],
    ["that the identity is not active", alive({ identity: "DELETION_PENDING" }), "the identity of ann is not active"],
    ["that the session is revoked", alive({ revoked: ["SESSION"] }), `${user.sessionId} is REVOKED`],
    ["that the session is gone", alive({ session: undefined }), `${user.sessionId} is gone`],
    [
      "how long ago the session ended",
      alive({}, { idleExpiresAtMs: question.nowMs - 7_000 }),
      `${user.sessionId} ended 7 s ago`,
    ],
    [
      "which credential is revoked",
      alive({ revoked: ["CREDENTIAL"] }),
      `the credential ${user.credentialId} is revoked`,
    ],
    ["which token is revoked", alive({ revoked: ["TOKEN"] }), `the token ${user.tokenId} is revoked`],
    [
      "which versions the token needs",
      alive({ minimum: { principal: 3, policy: 2 } }),
      "the token has the versions 0.0, and needs at least 3.2",
    ],
    ["nobody", { context: "NO_CREDENTIAL" }, "nobody who is known"],
    ["a fault", { requirement: JSON.parse(`{"is":"anyOf","of":[]}`) }, "INTERNAL: 500, step 0, internal error"],
  ])("states %s", (_, change, line) => {
    expect(textOf(change)).toContain(line)
  })
})
