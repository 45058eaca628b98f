import { expect, test } from "vitest"
import type { Invitation } from "../administration/records.ts"
import { newId } from "../ids.ts"
import type { Membership, Principal } from "../records.ts"
import { account, app, identity, membership, principal, providerClient } from "../testing/records.ts"
import {
  emailKey,
  normalizeEmail,
  planSignIn,
  type SignInFacts,
  type SignInPlan,
  verifiedEmail,
} from "./first-login.ts"

const known: SignInFacts = {
  app,
  client: providerClient,
  account,
  identity,
  principal,
  membership,
  innerMembership: null,
  invitation: null,
  invitedMembership: null,
  isSuspendedAround: false,
  cancelDeletion: false,
  asked: { tenantId: null, contextId: null },
  places: [],
  nowMs: 1_000,
}
const enter = { is: "enter", joins: false, cancelsDeletion: false, takes: null } as const
const newcomer = { is: "newcomer" } as const
const tenantId = newId("ten", 1, new Uint8Array(10))
const open = { app: "ACTIVE", tenant: null, context: null } as const
const inTenant = { asked: { tenantId, contextId: null }, places: [open] } as const
const invitation: Invitation = {
  id: newId("inv", 1, new Uint8Array(10)),
  appId: app.id,
  tenantId: null,
  contextId: null,
  principalId: null,
  codeHash: new Uint8Array(32),
  scopes: [],
  invitedBy: principal.id,
  status: "PENDING",
  createdAtMs: 0,
  expiresAtMs: 2_000,
  answeredAtMs: null,
  membershipId: null,
}
const toTenant: Invitation = { ...invitation, tenantId }
const contextId = newId("ctx", 1, new Uint8Array(10))
const toContext: Invitation = { ...toTenant, contextId }
const inContext = { asked: { tenantId, contextId }, places: [open] } as const
const invited = { invitation, invitedMembership: undefined }
const leaving = { ...identity, status: "DELETION_PENDING", deletesAtMs: 9_000 } as const
const refuse = (reason: string) => ({ is: "refuse", reason })
const closed = { ...app, settings: { ...app.settings, signupEnabled: false } }
const suspended: Membership = { ...membership, status: "SUSPENDED" }
const locked: Principal = { ...principal, status: "LOCKED" }

test.each<[string, Partial<SignInFacts>, SignInPlan | ReturnType<typeof refuse>]>([
  ["a known person signs in", {}, enter],
  ["an unknown subject is a newcomer", { account: undefined }, newcomer],
  ["a known person joins another app", { membership: undefined }, { ...enter, joins: true }],
  ["a closed app takes no newcomers", { account: undefined, app: closed }, refuse("SIGNUP_DISABLED")],
  ["a closed app takes no joiners", { membership: undefined, app: closed }, refuse("SIGNUP_DISABLED")],
  ["a closed app still signs its members in", { app: closed }, enter],
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
  [
    "who is suspended in the tenant is in none of its contexts",
    { isSuspendedAround: true },
    refuse("MEMBERSHIP_INACTIVE"),
  ],
  ["a blocked account does not sign in", { account: { ...account, status: "BLOCKED" } }, refuse("IDENTITY_INACTIVE")],
  [
    "an unlinked account makes no second identity",
    { account: { ...account, status: "UNLINKED" } },
    refuse("SIGNUP_DISABLED"),
  ],
  ["a revoked account links again", { account: { ...account, status: "REVOKED" } }, enter],
  [
    "an identity to be deleted does not sign in by accident",
    { identity: leaving },
    refuse("IDENTITY_DELETION_PENDING"),
  ],
  ["one that is to be kept does", { identity: leaving, cancelDeletion: true }, { ...enter, cancelsDeletion: true }],
  [
    "a deleted one never does",
    { identity: { ...identity, status: "DELETED" }, cancelDeletion: true },
    refuse("IDENTITY_INACTIVE"),
  ],
  [
    "a suspended place signs nobody in",
    { ...inTenant, innerMembership: membership, places: [{ ...open, tenant: "SUSPENDED" }] },
    refuse("TENANT_SUSPENDED"),
  ],
  [
    "a place that is not there neither",
    { ...inTenant, innerMembership: membership, places: [{ ...open, tenant: undefined }] },
    refuse("TENANT_SUSPENDED"),
  ],
  ["an invitation lets a newcomer into a closed app", { ...invited, account: undefined, app: closed }, newcomer],
  [
    "and a person of other apps",
    { ...invited, membership: undefined, app: closed },
    { ...enter, joins: true, takes: invitation },
  ],
  [
    "and who was removed",
    { ...invited, membership: { ...membership, status: "REMOVED" } },
    { ...enter, joins: true, takes: invitation },
  ],
  [
    "and who was asked",
    { ...invited, membership: { ...membership, status: "INVITED" } },
    { ...enter, takes: invitation },
  ],
  [
    "not who was asked, by an invitation to another place",
    { invitation: toTenant, invitedMembership: undefined, membership: { ...membership, status: "INVITED" } },
    refuse("MEMBERSHIP_INACTIVE"),
  ],
  ["nor who asked, without one", { membership: { ...membership, status: "REQUESTED" } }, refuse("MEMBERSHIP_INACTIVE")],
  ["but to its own place only", { ...invited, ...inTenant, innerMembership: undefined }, refuse("MEMBERSHIP_INACTIVE")],
  [
    "into a tenant, too",
    { ...inTenant, invitation: toTenant, invitedMembership: undefined, innerMembership: undefined },
    { ...enter, takes: toTenant },
  ],
  [
    "into a context, by an invitation to it",
    { ...inContext, invitation: toContext, invitedMembership: undefined, innerMembership: undefined },
    { ...enter, takes: toContext },
  ],
  [
    "and not by an invitation to its tenant",
    { ...inContext, invitation: toTenant, invitedMembership: undefined, innerMembership: undefined },
    refuse("MEMBERSHIP_INACTIVE"),
  ],
  [
    "and not by an invitation to another context of the tenant",
    {
      ...inContext,
      invitation: { ...toContext, contextId: newId("ctx", 2, new Uint8Array(10)) },
      invitedMembership: undefined,
      innerMembership: undefined,
    },
    refuse("MEMBERSHIP_INACTIVE"),
  ],
  [
    "it lifts no suspension",
    { ...invited, membership: suspended, invitedMembership: suspended },
    refuse("MEMBERSHIP_INACTIVE"),
  ],
  [
    "nor the suspension of the place that it is for",
    { invitation: toTenant, invitedMembership: suspended },
    refuse("MEMBERSHIP_INACTIVE"),
  ],
  ["nor a block", { ...invited, account: { ...account, status: "BLOCKED" } }, refuse("IDENTITY_INACTIVE")],
  ["nor what was unlinked", { ...invited, account: { ...account, status: "UNLINKED" } }, refuse("SIGNUP_DISABLED")],
  ["an unknown code is refused", { invitation: undefined, invitedMembership: undefined }, refuse("INVITATION_INVALID")],
  ...(
    [
      ["taken", { status: "ACCEPTED" }],
      ["revoked", { status: "REVOKED" }],
      ["out of time", { expiresAtMs: 1_000 }],
      ["of another app", { appId: newId("app", 9, new Uint8Array(10)) }],
      ["somebody else's", { principalId: newId("prn", 9, new Uint8Array(10)) }],
    ] as const
  ).map(([what, change]): [string, Partial<SignInFacts>, ReturnType<typeof refuse>] => [
    `one that is ${what} too`,
    { ...invited, invitation: { ...invitation, ...change } },
    refuse("INVITATION_INVALID"),
  ]),
  ["a locked principal does not sign in", { principal: locked }, refuse("PRINCIPAL_LOCKED")],
  ["a suspended member does not sign in", { membership: suspended }, refuse("MEMBERSHIP_INACTIVE")],
  ["a tenant needs a membership of its own", { innerMembership: undefined }, refuse("MEMBERSHIP_INACTIVE")],
  ["a suspended tenant membership does not serve", { innerMembership: suspended }, refuse("MEMBERSHIP_INACTIVE")],
  ["an active tenant membership does", { ...inTenant, innerMembership: membership }, enter],
  [
    "a newcomer cannot begin in a tenant",
    { ...inTenant, account: undefined, innerMembership: undefined },
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
  ["@example.com", null],
  ["ada@", null],
  [`ada@example.com${" ".repeat(306)}`, null],
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

test.each([
  ["Ada@Example.COM", "ada@example.com", true],
  [" ada@example.com ", "ada@example.com", true],
  ["ａｄａ@example.com", "ada@example.com", true],
  ["vİctİm@example.com", "victim@example.com", true],
  ["ΝΙΚΟΣ@example.com", "νικοσ@example.com", true],
  ["a.da@example.com", "ada@example.com", false],
  ["аda@example.com", "ada@example.com", false],
])("the addresses %j and %j are counted together: %j", (a, b, together) => {
  expect(emailKey(a) === emailKey(b)).toBe(together)
})
