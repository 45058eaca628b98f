import type { Tenants } from "@signet/kernel/administration/ports"
import type { Tenant } from "@signet/kernel/administration/records"
import { among, newestFirst } from "../page.ts"
import { instant, rowMapping } from "../row-mapping.ts"
import { at, type Database } from "../sql.ts"
import type { TenantTable } from "./admin-schema.ts"

const tenantRows = rowMapping<Tenant, TenantTable>({
  id: "id",
  appId: "app_id",
  name: "name",
  status: "status",
  createdAtMs: instant("created_at"),
  updatedAtMs: instant("updated_at"),
})

export function tenants(db: Database): Tenants {
  return {
    async insert(tenant) {
      await db.insertInto("tenant").values(tenantRows.toRow(tenant)).execute()
    },

    async find(id) {
      const row = await db.selectFrom("tenant").selectAll().where("id", "=", id).executeTakeFirst()
      return row && tenantRows.fromRow(row)
    },

    async lock(id) {
      const row = await db.selectFrom("tenant").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      return row && tenantRows.fromRow(row)
    },

    async list(appId, ids, page) {
      const query = db.selectFrom("tenant").selectAll().where("app_id", "=", appId).where(among("id", ids))
      return (await newestFirst(query, page).execute()).map(tenantRows.fromRow)
    },

    async update({ id, name, status, updatedAtMs }) {
      const change = { name, status, updated_at: at(updatedAtMs) }
      await db.updateTable("tenant").set(change).where("id", "=", id).execute()
    },
  }
}
