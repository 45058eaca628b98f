import type { Role } from "@signet/kernel/administration/records"
import type { Store } from "@signet/kernel/ports"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeOnEachStore, openTestStore, type TestStore } from "../../../../test/support/postgres.ts"
import { newPermission, newRole, newTenant, pagesOf, putOwnApp } from "../testing/administration.ts"
import { freshId } from "../testing/people.ts"

describeOnEachStore("permissions and roles", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
  })
  afterAll(() => opened.close())

  test("a permission's key is the app's own, and only its description changes", async () => {
    await store.transaction(async (tx) => {
      const [{ id: appId }, other] = [await putOwnApp(tx), await putOwnApp(tx)]
      const one = newPermission({ appId, key: "a.b.read", createdAtMs: 5 })
      const two = newPermission({ appId, key: "a.b.write", createdAtMs: 6 })
      expect(await tx.roles.insertPermission(one)).toBe(true)
      expect(await tx.roles.insertPermission(two)).toBe(true)
      expect(await tx.roles.insertPermission(newPermission({ appId, key: one.key }))).toBe(false)
      expect(await tx.roles.insertPermission(newPermission({ appId: other.id, key: one.key }))).toBe(true)
      const changed = { ...one, description: "changed" }
      await tx.roles.updatePermission({ ...changed, key: "x.y.z" })
      expect(await tx.roles.findPermissions(appId, [two.key, one.key, "x.y.z"])).toStrictEqual([changed, two])
      expect(await tx.roles.findPermissions(appId, [])).toEqual([])
      expect(await pagesOf((page) => tx.roles.listPermissions(appId, page))).toStrictEqual([two, changed])
    })
  })

  test("a permission cannot be deleted while an active role names it", async () => {
    await store.transaction(async (tx) => {
      const { id: appId } = await putOwnApp(tx)
      const permission = newPermission({ appId })
      const role = newRole({ appId, permissions: [permission.key] })
      await tx.roles.insertPermission(permission)
      await tx.roles.insert(role)
      // Another app's role with the same permission key does not block the deletion.
      await tx.roles.insert(newRole({ appId: (await putOwnApp(tx)).id, permissions: [permission.key] }))
      expect(await tx.roles.deletePermission(permission, 5)).toBe(false)
      await tx.roles.update({ ...role, status: "ARCHIVED" })
      expect(await tx.roles.deletePermission(permission, 5)).toBe(true)
      expect(await tx.roles.findPermissions(appId, [permission.key])).toEqual([])
      expect(await tx.roles.deletePermission(permission, 5)).toBe(false)
    })
  })

  test("a role's key is taken once in the app and once in each tenant, until it is archived", async () => {
    await store.transaction(async (tx) => {
      const { id: appId } = await putOwnApp(tx)
      const tenant = newTenant({ appId })
      await tx.tenants.insert(tenant)
      const key = "editor"
      const first = newRole({ appId, key })
      expect(await tx.roles.insert(first)).toBe(true)
      expect(await tx.roles.insert(newRole({ appId, key }))).toBe(false)
      expect(await tx.roles.insert(newRole({ appId, key, tenantId: tenant.id }))).toBe(true)
      expect(await tx.roles.insert(newRole({ appId, key, tenantId: tenant.id }))).toBe(false)
      await tx.roles.update({ ...first, status: "ARCHIVED" })
      expect(await tx.roles.insert(newRole({ appId, key }))).toBe(true)
    })
  })

  test("a role's place and key never change; a tenant sees the app's roles and its own", async () => {
    await store.transaction(async (tx) => {
      const { id: appId } = await putOwnApp(tx)
      const [tenant, other] = [newTenant({ appId }), newTenant({ appId })]
      for (const each of [tenant, other]) await tx.tenants.insert(each)
      const own = newRole({ appId, createdAtMs: 5 })
      const inside = newRole({ appId, tenantId: tenant.id, createdAtMs: 6 })
      const elsewhere = newRole({ appId, tenantId: other.id, createdAtMs: 7 })
      for (const each of [own, inside, elsewhere]) await tx.roles.insert(each)
      const change = {
        description: "D",
        permissions: [],
        inheritable: false,
        assignableAt: ["APP"] as const,
        updatedAtMs: 9,
      }
      const changed = { ...own, ...change }
      await tx.roles.update({ ...changed, key: "other", tenantId: other.id })
      expect(await tx.roles.find(own.id)).toStrictEqual(changed)
      expect(await tx.roles.lock(own.id)).toStrictEqual(changed)
      expect(await tx.roles.find(freshId("rol"))).toBeUndefined()
      expect(await pagesOf((page) => tx.roles.list(appId, { tenantId: tenant.id, keyPrefix: "" }, page))).toStrictEqual(
        [inside, changed],
      )
      expect(await pagesOf((page) => tx.roles.list(appId, { tenantId: null, keyPrefix: "" }, page))).toStrictEqual([
        changed,
      ])
    })
  })

  test("a prefix selects roles by the text of their keys, page by page, and within the same place", async () => {
    await store.transaction(async (tx) => {
      const { id: appId } = await putOwnApp(tx)
      const tenant = newTenant({ appId })
      await tx.tenants.insert(tenant)
      const keys = ["note_editor", "notes.editor", "note.reader", "editor.note_", "notex"]
      const made = keys.map((key, index) => newRole({ appId, key, createdAtMs: index + 1 }))
      const inside = newRole({ appId, key: "note_inside", tenantId: tenant.id, createdAtMs: 9 })
      for (const each of [...made, inside]) await tx.roles.insert(each)
      const keysOf = async (keyPrefix: string, tenantId: typeof tenant.id | null = null) =>
        (await pagesOf<Role>((page) => tx.roles.list(appId, { tenantId, keyPrefix }, page))).map(({ key }) => key)
      // An underscore is a character here, and no wildcard.
      expect(await keysOf("note_")).toEqual(["note_editor"])
      expect(await keysOf("note_", tenant.id)).toEqual(["note_inside", "note_editor"])
      expect(await keysOf("note")).toEqual(["notex", "note.reader", "notes.editor", "note_editor"])
      expect(await keysOf("notes.editor")).toEqual(["notes.editor"])
      expect(await keysOf("editors")).toEqual([])
    })
  })

  test("the keys of roles are found by their ids, archived ones included", async () => {
    await store.transaction(async (tx) => {
      const { id: appId } = await putOwnApp(tx)
      const [role, archived] = [newRole({ appId }), newRole({ appId })]
      for (const each of [role, archived]) await tx.roles.insert(each)
      await tx.roles.update({ ...archived, status: "ARCHIVED" })
      const keys = await tx.roles.findKeys([role.id, archived.id, role.id, freshId("rol")])
      expect(keys).toEqual(new Map([role, archived].map(({ id, key }) => [id, key])))
      expect(await tx.roles.findKeys([])).toEqual(new Map())
    })
  })
})
