import { describe, expect, test } from "vitest"
import { newId } from "../ids.ts"
import type { ProviderAccount } from "../records.ts"
import { account as providerAccount } from "../testing/records.ts"
import { callerProblem, planLink, planUnlink } from "./linking.ts"

const other = newId("idn", 1, new Uint8Array(10).fill(9))
const of = (status: ProviderAccount["status"], change: Partial<ProviderAccount> = {}): ProviderAccount => ({
  ...providerAccount,
  status,
  ...change,
})
const { identityId } = providerAccount
const second = newId("pac", 2, new Uint8Array(10).fill(2))

describe("linking", () => {
  test.each<[string, ProviderAccount | undefined, string]>([
    ["a new account is inserted", undefined, "insert"],
    ["the caller's own is kept", of("LINKED"), "keep"],
    ["the caller's own that the provider revoked is linked again", of("REVOKED"), "link"],
    ["an unlinked one goes to the identity that proves it", of("UNLINKED", { identityId: other }), "link"],
    ["another identity's is in use", of("LINKED", { identityId: other }), "PROVIDER_ACCOUNT_IN_USE"],
    ["another identity's revoked one is in use", of("REVOKED", { identityId: other }), "PROVIDER_ACCOUNT_IN_USE"],
    ["and one that is blocked", of("BLOCKED", { identityId: other }), "PROVIDER_ACCOUNT_IN_USE"],
    ["a blocked one stays blocked", of("BLOCKED"), "STATE_CONFLICT"],
  ])("%s", (_, account, expected) => {
    const plan = planLink(account, identityId)
    expect(plan.is === "refuse" ? plan.reason : plan.is).toBe(expected)
  })
})

describe("unlinking", () => {
  const another = of("LINKED", { id: second })
  test.each<[string, ProviderAccount | undefined, readonly ProviderAccount[], string]>([
    ["one of two that work", of("LINKED"), [of("LINKED"), another], "unlink"],
    ["one that the provider ended", of("REVOKED"), [of("REVOKED"), another], "unlink"],
    ["the last one that works", of("LINKED"), [of("LINKED"), { ...another, status: "REVOKED" }], "LAST_LOGIN_METHOD"],
    ["the last one at all", of("LINKED"), [of("LINKED")], "LAST_LOGIN_METHOD"],
    ["one that is blocked", of("BLOCKED"), [of("BLOCKED"), another], "STATE_CONFLICT"],
    ["one that is unlinked", of("UNLINKED"), [of("UNLINKED")], "keep"],
    ["somebody else's", of("LINKED", { identityId: other }), [another], "NOT_FOUND"],
    ["none", undefined, [another], "NOT_FOUND"],
  ])("%s", (_, account, accounts, expected) => {
    expect(planUnlink(account, accounts, identityId)).toBe(expected)
  })
})

test.each([
  ["ACTIVE", "ACTIVE", "ACTIVE", undefined],
  ["SUSPENDED", "ACTIVE", "ACTIVE", "PRINCIPAL_INACTIVE"],
  ["ACTIVE", "DELETION_PENDING", "ACTIVE", "IDENTITY_INACTIVE"],
  ["ACTIVE", "ACTIVE", "REVOKED", "SESSION_REVOKED"],
] as const)("principal %s, identity %s, session %s: %s", (principal, identity, session, expected) => {
  const facts = { principal: { status: principal }, identity: { id: identityId, status: identity } }
  expect(callerProblem({ ...facts, session: { status: session } })).toBe(expected)
  expect(callerProblem({ ...facts, session: undefined })).not.toBeUndefined()
})
