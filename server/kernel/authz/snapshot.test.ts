import { describe, expect, test } from "vitest"
import { newId } from "../ids.ts"
import { app, principal } from "../testing/records.ts"
import type { PermissionSnapshot } from "./effective.ts"
import { parseSnapshot, type SnapshotKey, snapshotClaims } from "./snapshot.ts"

const issuer = "https://auth.example"
const tenantId = newId("ten", 1, new Uint8Array(10))
const contextId = newId("ctx", 1, new Uint8Array(10))
const key: SnapshotKey = { principalId: principal.id, appId: app.id, tenantId: null, contextId: null, permVer: 5 }
const place = { roleId: "rol_1", appId: app.id, tenantId: null, contextId: null, resource: null, expiresAtMs: null }
const snapshot: PermissionSnapshot = {
  roles: new Map([["rol_1", { key: "editor", permissions: new Set(["notes.note.edit"]), inheritable: true }]]),
  scopes: new Map([["notes.read", new Set(["notes.note.edit"])]]),
  grants: [
    place,
    { ...place, expiresAtMs: 1_800_000_000_123 },
    { ...place, tenantId },
    { ...place, tenantId, contextId },
    { ...place, contextId },
    { ...place, tenantId, contextId, resource: { type: "note", id: "n1" }, expiresAtMs: 7 },
  ],
}
const written = (): Record<string, unknown> =>
  JSON.parse(
    JSON.stringify(
      snapshotClaims({ issuer, key, versions: { principal: 4, policy: 1 }, snapshot, nowSeconds: 1_800_000_000 }),
    ),
  )

test("an encoded snapshot parses, with the limits of every grant", () => {
  expect(parseSnapshot(written(), issuer, key)).toEqual(snapshot)
})

describe("a malformed snapshot does not parse", () => {
  const [role, grant] = [{ id: "rol_1", key: "k", permissions: [], inheritable: true }, { role_id: "rol_1" }]
  const grants = (change: unknown) => ({ grants: [{ ...grant, ...(change as object) }] })
  test.each<[string, object]>([
    ["with a role that is null", { roles: [null] }],
    ["with a role that is a text", { roles: ["editor"] }],
    ["with a role without a key", { roles: [{ ...role, key: "" }] }],
    ["with a permission that is a number", { roles: [{ ...role, permissions: [5] }] }],
    ["with a role that says nothing of inheritance", { roles: [{ ...role, inheritable: undefined }] }],
    ["with a grant that is null", { grants: [null] }],
    ["with a grant of no role", { grants: [{}] }],
    ["with a tenant that is a number", grants({ tenant_id: 5 })],
    ["with a tenant that is null", grants({ tenant_id: null })],
    ["with a tenant of another kind", grants({ tenant_id: contextId })],
    ["with a context that is a list", grants({ context_id: [contextId] })],
    ["with a resource that is null", grants({ resource: null })],
    ["with a resource without a type", grants({ resource: { id: "n1" } })],
    ["with a resource of an empty type", grants({ resource: { type: "", id: "n1" } })],
    ["with a resource whose id is a number", grants({ resource: { type: "note", id: 1 } })],
    ["with an expiry in words", grants({ expires_at_ms: "never" })],
    ["with an expiry that is null", grants({ expires_at_ms: null })],
    ["with scopes that are null", { scopes: null }],
    ["with scopes that are a list", { scopes: [] }],
  ])("%s", (_, change) => {
    expect(parseSnapshot({ ...written(), ...grants({}), roles: [role] }, issuer, key)).toBeDefined()
    expect(parseSnapshot({ ...written(), ...change }, issuer, key)).toBeUndefined()
  })

  test.each([[null], ["text"], [[]]])("that is %j", (payload) => {
    expect(parseSnapshot(payload, issuer, key)).toBeUndefined()
  })
})
