// The places at which a token is valid: its subject is an active member there, and suspended nowhere around it.
import { type ContextId, newId, type TenantId } from "@signet/kernel/ids"
import type { Membership } from "@signet/kernel/records"
import { serviceAccount } from "@signet/kernel/testing/machine-records"
import { membership } from "@signet/kernel/testing/records"
import { expect, test } from "vitest"
import type { Client } from "./authenticate-client.ts"
import { placeOfOwn } from "./client-credentials-grant.ts"
import { placeIn } from "./pat-grant.ts"

const random = new Uint8Array(10)
const tenant = newId("ten", 1, random)
const otherTenant = newId("ten", 2, random)
const context = newId("ctx", 1, random)
const otherContext = newId("ctx", 2, random)

const at = (tenantId: TenantId | null, contextId: ContextId | null, status: Membership["status"] = "ACTIVE") => ({
  ...membership,
  id: newId("mem", 1, crypto.getRandomValues(new Uint8Array(10))),
  tenantId,
  contextId,
  status,
})
const whole = at(null, null)
const inTenant = at(tenant, null)
const inContext = at(tenant, context)

test.each<[string, readonly Membership[], TenantId | null, ContextId | null, Membership | undefined]>([
  ["the app", [whole], null, null, whole],
  ["no app that the subject left", [at(null, null, "REMOVED")], null, null, undefined],
  ["the app that the subject left and joined again", [at(null, null, "REMOVED"), whole], null, null, whole],
  ["a tenant", [whole, inTenant], tenant, null, inTenant],
  ["no tenant without the app", [inTenant], tenant, null, undefined],
  ["no tenant of an app that suspends the subject", [at(null, null, "SUSPENDED"), inTenant], tenant, null, undefined],
  ["no other tenant", [whole, inTenant], otherTenant, null, undefined],
  ["no context by its tenant", [whole, inTenant], tenant, context, undefined],
  ["a context, without its tenant", [whole, inContext], tenant, context, inContext],
  ["no other context", [whole, inContext], tenant, otherContext, undefined],
  [
    "no context of a tenant that suspends the subject",
    [whole, at(tenant, null, "SUSPENDED"), inContext],
    tenant,
    context,
    undefined,
  ],
  [
    "a context while another tenant suspends the subject",
    [whole, at(otherTenant, null, "SUSPENDED"), inContext],
    tenant,
    context,
    inContext,
  ],
  [
    "a tenant while one of its contexts suspends the subject",
    [whole, inTenant, at(tenant, context, "SUSPENDED")],
    tenant,
    null,
    inTenant,
  ],
])("a user's token counts in %s", (_, memberships, tenantId, contextId, expected) => {
  expect(placeIn(memberships, tenantId, contextId)).toBe(expected)
})

const open = { app: "ACTIVE", tenant: null, context: null } as const
const client = (change: Partial<Client>, tenantId: TenantId | null = tenant) =>
  ({ account: serviceAccount, memberships: [], place: { tenantId, facts: open }, ...change }) as unknown as Client
const said = (found: ReturnType<typeof placeOfOwn>) =>
  typeof found === "object" && found !== null ? found.reason : found

test.each<[string, Client, ContextId | null, unknown]>([
  ["its tenant", client({ memberships: [inTenant] }), null, tenant],
  ["no tenant without a membership", client({ memberships: [at(otherTenant, null)] }), null, "MEMBERSHIP_INACTIVE"],
  ["no tenant that it left", client({ memberships: [at(tenant, null, "REMOVED")] }), null, "MEMBERSHIP_INACTIVE"],
  ["no context by its tenant", client({ memberships: [inTenant] }), context, "MEMBERSHIP_INACTIVE"],
  ["its context", client({ memberships: [inContext] }), context, tenant],
  [
    "no context of a tenant that suspends it",
    client({ memberships: [inContext, at(tenant, null, "SUSPENDED")] }),
    context,
    "MEMBERSHIP_INACTIVE",
  ],
  [
    "no tenant that is suspended",
    client({ memberships: [inTenant], place: { tenantId: tenant, facts: { ...open, tenant: "SUSPENDED" } } }),
    null,
    "TENANT_SUSPENDED",
  ],
])("a service's own token counts in %s", (_, of, contextId, expected) => {
  expect(said(placeOfOwn(of, { tenantId: tenant, contextId }))).toBe(expected)
})

test("a service of one tenant has no token of another", () => {
  const ofTenant = (tenantId: TenantId | null) =>
    client({ account: { ...serviceAccount, tenantId }, memberships: [inTenant] })
  const asked = { tenantId: tenant, contextId: null }
  expect(said(placeOfOwn(ofTenant(otherTenant), asked))).toBe("TENANT_MISMATCH")
  expect(said(placeOfOwn(ofTenant(tenant), asked))).toBe(tenant)
  expect(said(placeOfOwn(ofTenant(null), asked))).toBe(tenant)
  expect(said(placeOfOwn(ofTenant(otherTenant), { ...asked, tenantId: null }))).toBe(tenant)
})
