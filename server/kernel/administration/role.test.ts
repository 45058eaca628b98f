import { describe, expect, test } from "vitest"
import { newId } from "../ids.ts"
import { app } from "../testing/records.ts"
import { invitationExpiryMs, invitationState } from "./invitation.ts"
import type { GrantLevel, GrantNode, Role } from "./records.ts"
import { grantProblem, grantState, levelOf, permissionProblem, roleProblem } from "./role.ts"

const tenantId = newId("ten", 1, new Uint8Array(10))
const contextId = newId("ctx", 1, new Uint8Array(10))
const resource = { type: "note", id: "1" }
const role = {
  tenantId: null,
  key: "editor",
  permissions: ["notes.note.edit"],
  assignableAt: [],
  status: "ACTIVE",
} as const
const inApp: GrantNode = { appId: app.id, tenantId: null, contextId: null, resource: null }
const inTenant = { ...inApp, tenantId }

test.each<[string, string | undefined]>([
  ["notes.note.edit", undefined],
  ["notes.edit", "INVALID_FIELD"],
  ["notes.note.edit.more", "INVALID_FIELD"],
  ["", "INVALID_FIELD"],
  ["Notes.note.edit", "INVALID_FIELD"],
  ["auth.apps.write", "INVALID_FIELD"],
])("a permission of the key %j", (key, expected) => {
  expect(permissionProblem({ key })?.reason).toBe(expected)
})

describe("a role", () => {
  const known = new Set(["notes.note.edit"])
  test.each<[string, Partial<Role>, string | undefined]>([
    ["names permissions of the app", {}, undefined],
    ["names none", { permissions: [] }, undefined],
    ["names one that is not there", { permissions: ["notes.note.burn"] }, "role.permissions"],
    ["has no key", { key: "" }, "role.key"],
    ["of a tenant is assigned in the tenant", { tenantId, assignableAt: ["TENANT", "CONTEXT"] }, undefined],
    ["of the app is assigned in the app", { assignableAt: ["APP"] }, undefined],
    ["of a tenant is not assigned in the app", { tenantId, assignableAt: ["APP"] }, "role.assignable_at"],
  ])("%s", (_, change, expected) => {
    expect(roleProblem({ ...role, ...change }, known)?.field).toBe(expected)
  })
})

describe("a grant", () => {
  test.each<[GrantLevel, Partial<GrantNode>]>([
    ["APP", {}],
    ["TENANT", { tenantId }],
    ["CONTEXT", { contextId }],
    ["CONTEXT", { tenantId, contextId }],
    ["RESOURCE", { resource }],
    ["RESOURCE", { tenantId, contextId, resource }],
  ])("is at the level %s", (level, node) => {
    expect(levelOf({ ...inApp, ...node })).toBe(level)
  })

  const other = newId("ten", 2, new Uint8Array(10))
  test.each<[string, Partial<Role>, GrantNode, number | null, string | undefined]>([
    ["is of a role for everywhere", {}, inApp, null, undefined],
    ["is at the level of the role", { assignableAt: ["TENANT"] }, inTenant, null, undefined],
    ["is at another level", { assignableAt: ["TENANT"] }, inApp, null, "INVALID_FIELD role_id"],
    ["is of the tenant's role, there", { tenantId }, inTenant, null, undefined],
    ["is of the tenant's role, in the app", { tenantId }, inApp, null, "INVALID_FIELD role_id"],
    ["is of another tenant's role", { tenantId: other }, inTenant, null, "INVALID_FIELD role_id"],
    ["is of an archived role", { status: "ARCHIVED" }, inApp, null, "STATE_CONFLICT role_id"],
    ["ends later", {}, inApp, 11, undefined],
    ["ends now", {}, inApp, 10, "INVALID_FIELD expires_at"],
    ["ends with the year 9999", {}, inApp, 253_402_300_799_999, undefined],
    ["ends after it", {}, inApp, 253_402_300_800_000, "INVALID_FIELD expires_at"],
    ["ends when no calendar goes", {}, inApp, 1e20, "INVALID_FIELD expires_at"],
    ["ends never that a clock could tell", {}, inApp, Number.NaN, "INVALID_FIELD expires_at"],
  ])("%s", (_, change, node, expiresAtMs, expected) => {
    const problem = grantProblem({ ...role, ...change }, node, expiresAtMs, 10)
    expect(problem && `${problem.reason} ${problem.field}`).toBe(expected)
  })

  test.each([
    ["ACTIVE", "ACTIVE", null],
    ["ACTIVE", "ACTIVE", 11],
    ["EXPIRED", "ACTIVE", 10],
    ["REVOKED", "REVOKED", 11],
    ["REVOKED", "REVOKED", 9],
  ] as const)("is %s", (expected, status, expiresAtMs) => {
    expect(grantState({ status, expiresAtMs }, 10)).toBe(expected)
  })
})

test("an invitation expires after seven days or the requested time, exclusive", () => {
  expect(invitationExpiryMs(0, 0)).toBe(7 * 86_400_000)
  const expiresAtMs = invitationExpiryMs(1, 0)
  expect(invitationState({ status: "PENDING", expiresAtMs }, 3_599_999)).toBe("PENDING")
  expect(invitationState({ status: "PENDING", expiresAtMs }, 3_600_000)).toBe("EXPIRED")
  expect(invitationState({ status: "ACCEPTED", expiresAtMs }, 3_600_000)).toBe("ACCEPTED")
})
