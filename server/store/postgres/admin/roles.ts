import type { Roles } from "@signet/kernel/administration/ports"
import type { Permission, Role } from "@signet/kernel/administration/records"
import { roleChange } from "@signet/kernel/authz/authority-change"
import type { RoleId } from "@signet/kernel/ids"
import { sql } from "kysely"
import { newestFirst } from "../page.ts"
import { instant, rowMapping } from "../row-mapping.ts"
import { at, type Database } from "../sql.ts"
import type { PermissionTable, RoleTable } from "./admin-schema.ts"
import { raisePolicy } from "./authority.ts"

const roleRows = rowMapping<Role, RoleTable>({
  id: "id",
  appId: "app_id",
  tenantId: "tenant_id",
  key: "key",
  description: "description",
  permissions: "permissions",
  inheritable: "inheritable",
  assignableAt: "assignable_at",
  status: "status",
  createdAtMs: instant("created_at"),
  updatedAtMs: instant("updated_at"),
})

const permissionRows = rowMapping<Permission, PermissionTable>({
  id: "id",
  appId: "app_id",
  key: "key",
  description: "description",
  createdAtMs: instant("created_at"),
})

type Permissions = Pick<
  Roles,
  "insertPermission" | "findPermissions" | "listPermissions" | "updatePermission" | "deletePermission"
>

export function roles(db: Database): Roles {
  return {
    ...permissions(db),
    ...roleLists(db),

    async insert(role) {
      const inserted = await db
        .insertInto("role")
        .values(roleRows.toRow(role))
        .onConflict((conflict) =>
          conflict
            .expression(sql`app_id, (coalesce(tenant_id, '')), key`)
            // A literal, because a parameter does not match the partial index.
            .where(sql<boolean>`status = 'ACTIVE'`)
            .doNothing(),
        )
        .returning("id")
        .execute()
      if (inserted.length === 0) return false
      await raisePolicy(db, role.appId, roleChange(undefined, role), role.createdAtMs)
      return true
    },

    async find(id) {
      const row = await db.selectFrom("role").selectAll().where("id", "=", id).executeTakeFirst()
      return row && roleRows.fromRow(row)
    },

    async lock(id) {
      const row = await db.selectFrom("role").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      return row && roleRows.fromRow(row)
    },

    async update(role) {
      const { id, description, permissions, inheritable, assignableAt, status, updatedAtMs } = role
      const before = await db.selectFrom("role").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      const what = { description, permissions, inheritable, assignable_at: assignableAt, status }
      await db
        .updateTable("role")
        .set({ ...what, updated_at: at(updatedAtMs) })
        .where("id", "=", id)
        .execute()
      await raisePolicy(db, role.appId, roleChange(before && roleRows.fromRow(before), role), updatedAtMs)
    },
  }
}

function roleLists(db: Database): Pick<Roles, "findKeys" | "list"> {
  return {
    async findKeys(ids) {
      const query = db.selectFrom("role").select(["id", "key"]).where("id", "=", sql<RoleId>`any(${ids}::text[])`)
      return new Map((await query.execute()).map(({ id, key }) => [id, key]))
    },

    async list(appId, { tenantId, keyPrefix }, page) {
      const query = db
        .selectFrom("role")
        .selectAll()
        .where("app_id", "=", appId)
        .where(sql<boolean>`(tenant_id is null or tenant_id = ${tenantId})`)
        .where(sql<boolean>`starts_with(key, ${keyPrefix})`)
      return (await newestFirst(query, page).execute()).map(roleRows.fromRow)
    },
  }
}

function permissions(db: Database): Permissions {
  return {
    async insertPermission(permission) {
      const inserted = await db
        .insertInto("permission")
        .values(permissionRows.toRow(permission))
        .onConflict((conflict) => conflict.columns(["app_id", "key"]).doNothing())
        .returning("id")
        .execute()
      if (inserted.length === 0) return false
      await raisePolicy(db, permission.appId, "wider", permission.createdAtMs)
      return true
    },

    async findPermissions(appId, keys) {
      const rows = await db
        .selectFrom("permission")
        .selectAll()
        .where("app_id", "=", appId)
        .where(sql<boolean>`key = any(${keys}::text[])`)
        .orderBy("key")
        .forKeyShare()
        .execute()
      return rows.map(permissionRows.fromRow)
    },

    async listPermissions(appId, page) {
      const query = db.selectFrom("permission").selectAll().where("app_id", "=", appId)
      return (await newestFirst(query, page).execute()).map(permissionRows.fromRow)
    },

    async updatePermission({ id, description }) {
      await db.updateTable("permission").set({ description }).where("id", "=", id).execute()
    },

    async deletePermission({ id, appId, key }, nowMs) {
      // Two statements: the second sees a role that another transaction inserted while the first waited for the lock.
      await db.selectFrom("permission").select("id").where("id", "=", id).forUpdate().execute()
      const deleted = await db
        .deleteFrom("permission")
        .where("id", "=", id)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("role")
                .select("role.id")
                .where("role.app_id", "=", appId)
                .where("role.status", "=", "ACTIVE")
                .where(sql<boolean>`${key} = any(role.permissions)`),
            ),
          ),
        )
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("app")
                .select("app.id")
                .where("app.id", "=", appId)
                .where(sql<boolean>`app.scopes @> ${JSON.stringify([{ permissions: [key] }])}::jsonb`),
            ),
          ),
        )
        .returning("id")
        .execute()
      if (deleted.length === 0) return false
      // No role or scope named the permission, so nobody loses authority.
      await raisePolicy(db, appId, "wider", nowMs)
      return true
    },
  }
}
