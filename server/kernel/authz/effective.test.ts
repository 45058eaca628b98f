import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import type { Place } from "../administration/ports.ts"
import { newId } from "../ids.ts"
import { hasRoleAt, heldAt, isHeldAt, isHeldOn, type PermissionSnapshot } from "./effective.ts"
import type { HeldGrant } from "./grants.ts"

const random = (last: number) => new Uint8Array(10).fill(last)
const app = newId("app", 1, random(1))
const [tenant, otherTenant] = [newId("ten", 1, random(1)), newId("ten", 1, random(2))]
const [context, otherContext] = [newId("ctx", 1, random(1)), newId("ctx", 1, random(2))]
const nowMs = 1_000
const holder = { scopes: new Set(["notes.write"]), nowMs }
const place = (change: Partial<Place> = {}): Place => ({ appId: app, tenantId: null, contextId: null, ...change })

function snapshot(grants: Partial<HeldGrant>[], inheritable = true): PermissionSnapshot {
  return {
    roles: new Map([["rol_1", { key: "editor", permissions: new Set(["a.b.edit", "a.b.read"]), inheritable }]]),
    scopes: new Map([["notes.write", new Set(["a.b.edit", "a.b.drop"])]]),
    grants: grants.map((change) => ({ ...place(), roleId: "rol_1", resource: null, expiresAtMs: null, ...change })),
  }
}

const inTenant = place({ tenantId: tenant })
const inContext = place({ tenantId: tenant, contextId: context })
const note = { type: "note", id: "n1" }

describe("a permission at a place", () => {
  test.each<[string, Partial<HeldGrant>, Place, { inherited: boolean; alone: boolean }]>([
    ["is held by a grant there", { tenantId: tenant }, inTenant, { inherited: true, alone: true }],
    ["is inherited of the app", {}, inTenant, { inherited: true, alone: false }],
    ["is inherited of the tenant", { tenantId: tenant }, inContext, { inherited: true, alone: false }],
    ["goes no way up", { tenantId: tenant }, place(), { inherited: false, alone: false }],
    ["goes no way up from a context", inContext, inTenant, { inherited: false, alone: false }],
    ["is of this tenant", { tenantId: otherTenant }, inTenant, { inherited: false, alone: false }],
    ["is of this context", { ...inContext, contextId: otherContext }, inContext, { inherited: false, alone: false }],
    ["is held by a resource there", { tenantId: tenant, resource: note }, inTenant, { inherited: true, alone: true }],
    ["is not held by one of no tenant", { resource: note }, inTenant, { inherited: false, alone: false }],
    [
      "is not held by one of no context",
      { tenantId: tenant, resource: note },
      inContext,
      { inherited: false, alone: false },
    ],
    ["is not held by one elsewhere", { ...inContext, resource: note }, inTenant, { inherited: false, alone: false }],
  ])("%s", (_, grant, at, expected) => {
    expect(isHeldAt(snapshot([grant]), holder, "a.b.edit", at)).toBe(expected.inherited)
    expect(isHeldAt(snapshot([grant], false), holder, "a.b.edit", at)).toBe(expected.alone)
  })

  test("needs a scope that allows it and a role that has it", () => {
    const of = snapshot([{}])
    expect(isHeldAt(of, holder, "a.b.edit", place())).toBe(true)
    expect(isHeldAt(of, holder, "a.b.read", place())).toBe(false)
    expect(isHeldAt(of, holder, "a.b.drop", place())).toBe(false)
    expect(isHeldAt(of, { ...holder, scopes: new Set() }, "a.b.edit", place())).toBe(false)
    expect(isHeldAt({ ...of, roles: new Map() }, holder, "a.b.edit", place())).toBe(false)
  })

  test("is listed with its role, as far as scopes allow it", () => {
    const of = snapshot([{ tenantId: tenant }, { tenantId: otherTenant, roleId: "rol_2" }])
    expect(heldAt(of, holder, inTenant)).toEqual({ roles: new Set(["editor"]), permissions: new Set(["a.b.edit"]) })
    expect(heldAt(of, holder, place())).toEqual({ roles: new Set(), permissions: new Set() })
    const late = { ...of, grants: of.grants.map((grant) => ({ ...grant, expiresAtMs: nowMs })) }
    expect(heldAt(late, holder, inTenant)).toEqual({ roles: new Set(), permissions: new Set() })
  })

  test("on a resource lists permissions, but no role of the place", () => {
    const of = snapshot([{ tenantId: tenant, resource: { type: "note", id: "n1" } }])
    expect(heldAt(of, holder, inTenant)).toEqual({ roles: new Set(), permissions: new Set(["a.b.edit"]) })
    expect(hasRoleAt(of, "editor", inTenant, nowMs)).toBe(false)
    expect(hasRoleAt(snapshot([{ tenantId: tenant }]), "editor", inTenant, nowMs)).toBe(true)
    expect(hasRoleAt(snapshot([{ tenantId: tenant }]), "owner", inTenant, nowMs)).toBe(false)
  })
})

test("a grant on a resource covers only that resource, in its own place", () => {
  const resource = { ...note, ...inTenant }
  const isOn = (grant: Partial<HeldGrant>) => isHeldOn(snapshot([grant], false), holder, "a.b.edit", resource)
  expect(isOn({ tenantId: tenant, resource: note })).toBe(true)
  expect(isOn({ tenantId: otherTenant, resource: note })).toBe(false)
  expect(isOn({ tenantId: tenant, resource: { ...note, id: "n2" } })).toBe(false)
  // A resource without a tenant may have the same id as one of a tenant.
  expect(isOn({ resource: note })).toBe(false)
  expect(isOn({ ...inContext, resource: note })).toBe(false)
  // On the tenant, not below it.
  expect(isOn({ tenantId: tenant })).toBe(false)
})

describe("for random grants,", () => {
  const node = fc.record({
    tenantId: fc.constantFrom(null, tenant, otherTenant),
    contextId: fc.constantFrom(null, context, otherContext),
    resource: fc.constantFrom(null, note, { ...note, id: "n2" }),
    roleId: fc.constantFrom("rol_1", "rol_2"),
    expiresAtMs: fc.constantFrom(null, nowMs, nowMs + 1),
  })
  const permissions = fc.subarray(["a.b.edit", "a.b.read"]).map((some) => new Set(some))
  const role = fc.record({ key: fc.constant("r"), permissions, inheritable: fc.boolean() })
  const snapshots = fc
    .record({ one: role, two: role, usable: permissions, grants: fc.array(node, { maxLength: 4 }) })
    .map(
      ({ one, two, usable, grants }): PermissionSnapshot => ({
        roles: new Map([
          ["rol_1", one],
          ["rol_2", two],
        ]),
        scopes: new Map([["notes.write", usable]]),
        grants: grants.map((grant) => ({ appId: app, ...grant })),
      }),
    )
  const at = fc.constantFrom(place(), inTenant, inContext)
  const told = (of: PermissionSnapshot, where: Place) => ({
    held: heldAt(of, holder, where).permissions.has("a.b.edit"),
    at: isHeldAt(of, holder, "a.b.edit", where),
    on: isHeldOn(of, holder, "a.b.edit", { ...note, ...where }),
  })
  const runs = { numRuns: effort(500, 10_000, 50_000) }

  test("a permission on a resource is held at its place, and the context lists it", () => {
    const seen = new Set<boolean>()
    fc.assert(
      fc.property(snapshots, at, (of, where) => {
        const { held, at, on } = told(of, where)
        seen.add(on)
        expect(held).toBe(at)
        if (on) expect(at).toBe(true)
      }),
      runs,
    )
    expect(seen.size).toBe(2)
  })

  test("removing a grant adds no permission, and the order does not matter", () => {
    fc.assert(
      fc.property(snapshots, at, fc.nat(3), (of, where, index) => {
        const before = told(of, where)
        expect(told({ ...of, grants: of.grants.toReversed() }, where)).toEqual(before)
        const after = told({ ...of, grants: of.grants.toSpliced(index, 1) }, where)
        if (!before.at) expect(after.at).toBe(false)
        if (!before.on) expect(after.on).toBe(false)
      }),
      runs,
    )
  })
})
