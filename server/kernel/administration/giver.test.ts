import { describe, expect, test } from "vitest"
import { newId } from "../ids.ts"
import { invitation as any } from "../testing/admin-records.ts"
import { membership, app as plain, principal } from "../testing/records.ts"
import { type Giver, isOfGiver, isStillGiven } from "./giver.ts"

const scope = "auth.members.write"
const app = { ...plain, scopes: [...plain.scopes, { key: scope, audience: "auth", isDefault: false }] }
const tenantId = newId("ten", 7, new Uint8Array(10))
const contextId = newId("ctx", 7, new Uint8Array(10))
const invitation = { ...any, tenantId, contextId: null, scopes: [scope, "notes.read"] }
const ofApp = { ...membership, appId: app.id, tenantId: null, contextId: null, status: "ACTIVE", scopes: [] } as const
const holding = { ...ofApp, scopes: [scope] }
const giver = (memberships: Giver["in"][0]["memberships"], change: Partial<Giver> = {}): Giver => ({
  principal,
  account: undefined,
  in: [{ app, memberships }],
  ...change,
})

describe("an invitation with a scope of this service remains valid for", () => {
  test.each<[string, Giver, boolean]>([
    ["an inviter who holds it in the app", giver([holding]), true],
    ["who holds it in the tenant", giver([ofApp, { ...holding, tenantId }]), true],
    ["nobody who is suspended", giver([holding], { principal: { status: "SUSPENDED" } }), false],
    ["nobody who is gone", giver([], { principal: undefined }), false],
    ["no member who holds it no more", giver([ofApp]), false],
    ["no member who is suspended", giver([{ ...holding, status: "SUSPENDED" }]), false],
    [
      "no member who was suspended where it was held",
      giver([ofApp, { ...holding, tenantId, status: "SUSPENDED" }, { ...holding, status: "REMOVED" }]),
      false,
    ],
    [
      "no member of the tenant who is suspended in the app",
      giver([
        { ...ofApp, status: "SUSPENDED" },
        { ...holding, tenantId },
      ]),
      false,
    ],
    [
      "no member of the tenant, and else of a context alone",
      giver([
        { ...ofApp, contextId },
        { ...holding, tenantId },
      ]),
      false,
    ],
    [
      "a service of the tenant",
      giver([{ ...ofApp, tenantId }], { account: { status: "ACTIVE", scopes: [scope] } }),
      true,
    ],
    ["no member of the tenant alone", giver([{ ...holding, tenantId }]), false],
    ["nobody in another tenant", giver([ofApp, { ...holding, tenantId: newId("ten", 8, new Uint8Array(10)) }]), false],
    [
      "an administrator of the installation",
      giver([], {
        in: [
          { app: { ...app, id: newId("app", 8, new Uint8Array(10)), isInstallation: true }, memberships: [holding] },
        ],
      }),
      true,
    ],
    [
      "no administrator of a tenant of the installation",
      giver([], { in: [{ app: { ...app, isInstallation: true }, memberships: [ofApp, { ...holding, tenantId }] }] }),
      false,
    ],
    ["a service that holds it", giver([ofApp], { account: { status: "ACTIVE", scopes: [scope] } }), true],
    ["no service that holds it no more", giver([holding], { account: { status: "ACTIVE", scopes: [] } }), false],
    ["no service that is off", giver([ofApp], { account: { status: "DISABLED", scopes: [scope] } }), false],
  ])("%s", (_, by, expected) => {
    expect(isStillGiven(invitation, by, "auth")).toBe(expected)
  })

  test("an invitation without such a scope needs no check of its inviter", () => {
    const other = { ...invitation, scopes: ["notes.read"] }
    expect([isOfGiver(invitation), isOfGiver(other)]).toEqual([true, false])
    expect(isStillGiven(other, giver([], { principal: undefined }), "auth")).toBe(true)
  })
})
