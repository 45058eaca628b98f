import { describe, expect, test } from "vitest"
import { newId } from "../ids.ts"
import { invitation as any } from "../testing/admin-records.ts"
import { membership, app as plain, principal } from "../testing/records.ts"
import { grantsOwnScopes, type Inviter, mayStillGrant } from "./inviter.ts"

const scope = "auth.members.write"
const app = { ...plain, scopes: [...plain.scopes, { key: scope, audience: "auth", isDefault: false }] }
const tenantId = newId("ten", 7, new Uint8Array(10))
const contextId = newId("ctx", 7, new Uint8Array(10))
const invitation = { ...any, tenantId, contextId: null, scopes: [scope, "notes.read"] }
const ofApp = { ...membership, appId: app.id, tenantId: null, contextId: null, status: "ACTIVE", scopes: [] } as const
const holding = { ...ofApp, scopes: [scope] }
const inviter = (memberships: Inviter["in"][0]["memberships"], change: Partial<Inviter> = {}): Inviter => ({
  principal,
  account: undefined,
  in: [{ app, memberships }],
  ...change,
})

describe("an invitation with a scope of this service remains valid for", () => {
  test.each<[string, Inviter, boolean]>([
    ["an inviter who holds it in the app", inviter([holding]), true],
    ["an inviter who holds it in the tenant", inviter([ofApp, { ...holding, tenantId }]), true],
    ["nobody who is suspended", inviter([holding], { principal: { status: "SUSPENDED" } }), false],
    ["nobody who was deleted", inviter([], { principal: undefined }), false],
    ["no member who lost it", inviter([ofApp]), false],
    ["no member who is suspended", inviter([{ ...holding, status: "SUSPENDED" }]), false],
    [
      "no member who was suspended where it was held",
      inviter([ofApp, { ...holding, tenantId, status: "SUSPENDED" }, { ...holding, status: "REMOVED" }]),
      false,
    ],
    [
      "no member of the tenant who is suspended in the app",
      inviter([
        { ...ofApp, status: "SUSPENDED" },
        { ...holding, tenantId },
      ]),
      false,
    ],
    [
      "no member of the tenant, and else of a context alone",
      inviter([
        { ...ofApp, contextId },
        { ...holding, tenantId },
      ]),
      false,
    ],
    [
      "a service of the tenant",
      inviter([{ ...ofApp, tenantId }], { account: { status: "ACTIVE", scopes: [scope] } }),
      true,
    ],
    ["no member of the tenant alone", inviter([{ ...holding, tenantId }]), false],
    [
      "nobody in another tenant",
      inviter([ofApp, { ...holding, tenantId: newId("ten", 8, new Uint8Array(10)) }]),
      false,
    ],
    [
      "an administrator of the installation",
      inviter([], {
        in: [
          { app: { ...app, id: newId("app", 8, new Uint8Array(10)), isInstallation: true }, memberships: [holding] },
        ],
      }),
      true,
    ],
    [
      "no administrator of a tenant of the installation",
      inviter([], { in: [{ app: { ...app, isInstallation: true }, memberships: [ofApp, { ...holding, tenantId }] }] }),
      false,
    ],
    ["a service that holds it", inviter([ofApp], { account: { status: "ACTIVE", scopes: [scope] } }), true],
    ["no service that lost it", inviter([holding], { account: { status: "ACTIVE", scopes: [] } }), false],
    ["no disabled service", inviter([ofApp], { account: { status: "DISABLED", scopes: [scope] } }), false],
  ])("%s", (_, by, expected) => {
    expect(mayStillGrant(invitation, by, "auth")).toBe(expected)
  })

  test("an invitation without such a scope needs no check of its inviter", () => {
    const other = { ...invitation, scopes: ["notes.read"] }
    expect([grantsOwnScopes(invitation), grantsOwnScopes(other)]).toEqual([true, false])
    expect(mayStillGrant(other, inviter([], { principal: undefined }), "auth")).toBe(true)
  })
})

test("an inviter who may remove members may grant the scopes for their devices, and another may not", () => {
  const devices = { ...invitation, scopes: ["messaging.devices.write"] }
  expect(mayStillGrant(devices, inviter([holding]), "auth")).toBe(true)
  expect(mayStillGrant(devices, inviter([ofApp]), "auth")).toBe(false)
})
