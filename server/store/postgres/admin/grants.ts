import type { Grants } from "@signet/kernel/administration/ports"
import type { Grant } from "@signet/kernel/administration/records"
import { type Selectable, sql } from "kysely"
import { newestFirst, only } from "../page.ts"
import { at, atOrNull, type Database, msOrNull } from "../sql.ts"
import type { GrantTable } from "./admin-schema.ts"
import { raiseAuthority, raisePolicy } from "./authority.ts"

const nodeColumns = sql`principal_id, role_id, app_id, (coalesce(tenant_id, '')), (coalesce(context_id, '')),
  (coalesce(resource_type, '')), (coalesce(resource_id, ''))`

export function grants(db: Database): Grants {
  return {
    async insert(grant) {
      await giveWay(db, grant)
      const inserted = await db
        .insertInto("role_grant")
        .values(toRow(grant))
        .onConflict((conflict) =>
          conflict
            .expression(nodeColumns)
            // A literal, because a parameter does not match the partial index.
            .where(sql<boolean>`status = 'ACTIVE'`)
            .doNothing(),
        )
        .returning("id")
        .execute()
      if (inserted.length === 0) return false
      await raiseAuthority(db, grant, "wider", grant.createdAtMs)
      return true
    },

    async find(id) {
      const row = await db.selectFrom("role_grant").selectAll().where("id", "=", id).executeTakeFirst()
      return row && grantFromRow(row)
    },

    async lock(id) {
      const row = await db.selectFrom("role_grant").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      return row && grantFromRow(row)
    },

    async list(appId, filter, page) {
      const query = db
        .selectFrom("role_grant")
        .selectAll()
        .where("app_id", "=", appId)
        .where(only("tenant_id", filter.tenantId))
        .where(only("context_id", filter.contextId))
        .where(only("principal_id", filter.principalId))
        .where(only("role_id", filter.roleId))
      return (await newestFirst(query, page).execute()).map(grantFromRow)
    },

    async listOfPrincipal(principalId, appId) {
      const rows = await db
        .selectFrom("role_grant")
        .selectAll()
        .where("principal_id", "=", principalId)
        .where("app_id", "=", appId)
        .where("status", "=", "ACTIVE")
        .orderBy("id")
        .execute()
      return rows.map(grantFromRow)
    },

    async revoke(id, nowMs) {
      const revoked = await db
        .updateTable("role_grant")
        .set({ status: "REVOKED", revoked_at: at(nowMs) })
        .where("id", "=", id)
        .where("status", "=", "ACTIVE")
        .returning(["principal_id", "app_id"])
        .executeTakeFirst()
      if (revoked === undefined) return false
      const of = { principalId: revoked.principal_id, appId: revoked.app_id }
      await raiseAuthority(db, of, "narrower", nowMs)
      return true
    },

    async revokeOfRole(id, nowMs) {
      const rows = await db
        .updateTable("role_grant")
        .set({ status: "REVOKED", revoked_at: at(nowMs) })
        .where("role_id", "=", id)
        .where("status", "=", "ACTIVE")
        .returningAll()
        .execute()
      // One entry covers all holders: a change of the app's policy.
      const [first] = rows
      if (first !== undefined) await raisePolicy(db, first.app_id, "narrower", nowMs)
      return rows.map(grantFromRow)
    },
  }
}

/** Revokes an expired grant as of its expiry, so that it does not block the next one. */
async function giveWay(db: Database, { principalId, roleId, createdAtMs }: Grant): Promise<void> {
  await db
    .updateTable("role_grant")
    .set(({ ref }) => ({ status: "REVOKED", revoked_at: ref("expires_at") }))
    .where("principal_id", "=", principalId)
    .where("role_id", "=", roleId)
    .where("status", "=", "ACTIVE")
    .where("expires_at", "<=", at(createdAtMs))
    .execute()
}

export const grantFromRow = (row: Selectable<GrantTable>): Grant => ({
  id: row.id,
  principalId: row.principal_id,
  roleId: row.role_id,
  appId: row.app_id,
  tenantId: row.tenant_id,
  contextId: row.context_id,
  resource: resourceOf(row),
  expiresAtMs: msOrNull(row.expires_at),
  grantedBy: row.granted_by,
  reason: row.reason,
  status: row.status,
  createdAtMs: row.created_at.getTime(),
  revokedAtMs: msOrNull(row.revoked_at),
})

const resourceOf = ({ resource_type, resource_id }: Selectable<GrantTable>): Grant["resource"] =>
  resource_type === null || resource_id === null ? null : { type: resource_type, id: resource_id }

const toRow = (grant: Grant): GrantTable => ({
  id: grant.id,
  principal_id: grant.principalId,
  role_id: grant.roleId,
  app_id: grant.appId,
  tenant_id: grant.tenantId,
  context_id: grant.contextId,
  resource_type: grant.resource?.type ?? null,
  resource_id: grant.resource?.id ?? null,
  expires_at: atOrNull(grant.expiresAtMs),
  granted_by: grant.grantedBy,
  reason: grant.reason,
  status: grant.status,
  created_at: at(grant.createdAtMs),
  revoked_at: atOrNull(grant.revokedAtMs),
})
