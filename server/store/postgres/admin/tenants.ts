import type { Tenants } from "@signet/kernel/administration/ports"
import type { Tenant } from "@signet/kernel/administration/records"
import type { Selectable } from "kysely"
import { newestFirst } from "../page.ts"
import { at, type Database } from "../sql.ts"
import type { TenantTable } from "./admin-schema.ts"

export function tenants(db: Database): Tenants {
  return {
    async insert(tenant) {
      await db.insertInto("tenant").values(toRow(tenant)).execute()
    },

    async find(id) {
      const row = await db.selectFrom("tenant").selectAll().where("id", "=", id).executeTakeFirst()
      return row && fromRow(row)
    },

    async lock(id) {
      const row = await db.selectFrom("tenant").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      return row && fromRow(row)
    },

    async list(appId, page) {
      const query = db.selectFrom("tenant").selectAll().where("app_id", "=", appId)
      return (await newestFirst(query, page).execute()).map(fromRow)
    },

    async update({ id, name, status, updatedAtMs }) {
      const change = { name, status, updated_at: at(updatedAtMs) }
      await db.updateTable("tenant").set(change).where("id", "=", id).execute()
    },
  }
}

const fromRow = (row: Selectable<TenantTable>): Tenant => ({
  id: row.id,
  appId: row.app_id,
  name: row.name,
  status: row.status,
  createdAtMs: row.created_at.getTime(),
  updatedAtMs: row.updated_at.getTime(),
})

const toRow = (tenant: Tenant): TenantTable => ({
  id: tenant.id,
  app_id: tenant.appId,
  name: tenant.name,
  status: tenant.status,
  created_at: at(tenant.createdAtMs),
  updated_at: at(tenant.updatedAtMs),
})
