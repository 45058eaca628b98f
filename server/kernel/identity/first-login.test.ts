import { expect, test } from "vitest"
import type { Membership, Principal } from "../records.ts"
import { account, app, identity, membership, principal, providerClient } from "../testing/records.ts"
import { normalizeEmail, planSignIn, type SignInFacts, type SignInPlan, verifiedEmail } from "./first-login.ts"

const known: SignInFacts = {
  app,
  client: providerClient,
  account,
  identity,
  principal,
  membership,
  innerMembership: null,
}
const refuse = (reason: string) => ({ is: "refuse", reason })
const closed = { ...app, settings: { ...app.settings, signupEnabled: false } }
const suspended: Membership = { ...membership, status: "SUSPENDED" }
const locked: Principal = { ...principal, status: "LOCKED" }

test.each<[string, Partial<SignInFacts>, SignInPlan | ReturnType<typeof refuse>]>([
  ["a known person signs in", {}, { is: "known" }],
  ["an unknown subject is a newcomer", { account: undefined }, { is: "newcomer" }],
  ["a known person joins another app", { membership: undefined }, { is: "join" }],
  ["a closed app takes no newcomers", { account: undefined, app: closed }, refuse("SIGNUP_DISABLED")],
  ["a closed app takes no joiners", { membership: undefined, app: closed }, refuse("SIGNUP_DISABLED")],
  ["a closed app still signs its members in", { app: closed }, { is: "known" }],
  [
    "a client may be closed on its own",
    { account: undefined, client: { ...providerClient, signupEnabled: false } },
    refuse("SIGNUP_DISABLED"),
  ],
  [
    "a disabled client signs nobody in",
    { client: { ...providerClient, status: "DISABLED" } },
    refuse("PROVIDER_DISABLED"),
  ],
  ["a suspended app signs nobody in", { app: { ...app, status: "SUSPENDED" } }, refuse("TENANT_SUSPENDED")],
  ["a blocked account does not sign in", { account: { ...account, status: "BLOCKED" } }, refuse("IDENTITY_INACTIVE")],
  [
    "an unlinked account makes no second identity",
    { account: { ...account, status: "UNLINKED" } },
    refuse("SIGNUP_DISABLED"),
  ],
  ["a revoked account links again", { account: { ...account, status: "REVOKED" } }, { is: "known" }],
  [
    "an identity to be deleted does not sign in",
    { identity: { ...identity, status: "DELETION_PENDING" } },
    refuse("IDENTITY_INACTIVE"),
  ],
  ["a locked principal does not sign in", { principal: locked }, refuse("PRINCIPAL_INACTIVE")],
  ["a suspended member does not sign in", { membership: suspended }, refuse("MEMBERSHIP_INACTIVE")],
  ["a tenant needs a membership of its own", { innerMembership: undefined }, refuse("MEMBERSHIP_INACTIVE")],
  ["a suspended tenant membership does not serve", { innerMembership: suspended }, refuse("MEMBERSHIP_INACTIVE")],
  ["an active tenant membership does", { innerMembership: membership }, { is: "known" }],
  [
    "a newcomer cannot begin in a tenant",
    { account: undefined, innerMembership: undefined },
    refuse("MEMBERSHIP_INACTIVE"),
  ],
])("%s", (_, change, expected) => {
  expect(planSignIn({ ...known, ...change })).toEqual(expected)
})

test.each([
  ["Ada@Example.COM", "Ada@example.com"],
  ["ａｄａ@example.com", "ada@example.com"],
  ["a@b@c", null],
  ["no address", null],
  ["ada\u00a8@example.com", null],
  ["ada\u007f@example.com", null],
  [`${"\ufdfa".repeat(60)}@example.com`, null],
  ["", null],
  [null, null],
])("the address %j is kept as %j", (text, kept) => {
  expect(normalizeEmail(text)).toBe(kept)
})

test.each<[string, string | null, boolean, string | null]>([
  ["a verified address is kept", "ada@Example.com", true, "ada@example.com"],
  ["an unverified one is not", "ada@example.com", false, null],
  ["nor is one that normalization would make another mailbox", "ａｄａ@example.com", true, null],
  ["nor is none", null, true, null],
])("as the primary address %s", (_, email, isVerified, kept) => {
  expect(verifiedEmail(email, isVerified)).toBe(kept)
})
