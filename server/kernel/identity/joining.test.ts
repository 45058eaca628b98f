import { describe, expect, test } from "vitest"
import type { PlaceFacts } from "../administration/ports.ts"
import type { Membership } from "../records.ts"
import { invitation } from "../testing/admin-records.ts"
import { membership, principal } from "../testing/records.ts"
import { acceptanceProblem, declineProblem, membershipRequestProblem, planLeave } from "./joining.ts"

const open: PlaceFacts = { app: "ACTIVE", tenant: "ACTIVE", context: null }
const pending = { ...invitation, status: "PENDING", principalId: null } as const
const answering = {
  invitation: pending,
  appId: invitation.appId,
  principalId: principal.id,
  membership: undefined,
  nowMs: invitation.expiresAtMs - 1,
}
const of = (status: Membership["status"]): Membership => ({ ...membership, status })

describe("an invitation is", () => {
  test("accepted before its expiry, by its recipient, at an open place", () => {
    expect(acceptanceProblem(answering, open)).toBeUndefined()
    expect(acceptanceProblem({ ...answering, membership: of("REMOVED") }, open)).toBeUndefined()
    expect(acceptanceProblem({ ...answering, membership: of("INVITED") }, open)).toBeUndefined()
  })

  test.each<
    [
      string,
      Partial<typeof answering> | { membership: Membership } | { tenantMembership: Membership },
      PlaceFacts,
      string,
    ]
  >([
    ["not too late", { nowMs: invitation.expiresAtMs }, open, "INVITATION_INVALID"],
    ["not in a closed place", {}, { ...open, tenant: "SUSPENDED" }, "TENANT_SUSPENDED"],
    ["no way around a suspension", { membership: of("SUSPENDED") }, open, "MEMBERSHIP_INACTIVE"],
    ["no way around that of the tenant", { tenantMembership: of("SUSPENDED") }, open, "MEMBERSHIP_INACTIVE"],
    ["nothing to a member", { membership: of("ACTIVE") }, open, "ALREADY_EXISTS"],
  ])("%s", (_, change, place, expected) => {
    expect(acceptanceProblem({ ...answering, ...change }, place)).toBe(expected)
  })

  test("declined only by the principal that it names", () => {
    const named = { ...pending, principalId: principal.id }
    expect(declineProblem({ ...answering, invitation: named })).toBeUndefined()
    expect(declineProblem(answering)).toBe("INVITATION_INVALID")
    expect(declineProblem({ ...answering, invitation: { ...named, status: "DECLINED" } })).toBe("INVITATION_INVALID")
    expect(declineProblem({ ...answering, invitation: undefined })).toBe("INVITATION_INVALID")
  })
})

test("a membership of a closed place, or a second one, cannot be requested", () => {
  expect(membershipRequestProblem(open, undefined)).toBeUndefined()
  expect(membershipRequestProblem(open, of("REJECTED"))).toBeUndefined()
  expect(membershipRequestProblem({ ...open, tenant: undefined }, undefined)).toBe("RESOURCE_UNRESOLVED")
  expect(membershipRequestProblem({ ...open, tenant: "ARCHIVED" }, of("ACTIVE"))).toBe("RESOURCE_UNRESOLVED")
  expect(membershipRequestProblem(open, of("SUSPENDED"))).toBe("ALREADY_EXISTS")
})

test.each([
  ["ACTIVE", "go"],
  ["REQUESTED", "go"],
  ["INVITED", "go"],
  ["SUSPENDED", "refuse"],
  ["REMOVED", "stay"],
  ["DECLINED", "stay"],
] as const)("who is %s and leaves: %s", (status, expected) => {
  expect(planLeave(of(status))).toBe(expected)
})
