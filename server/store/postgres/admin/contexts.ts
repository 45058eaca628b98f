import type { Contexts } from "@signet/kernel/administration/ports"
import type { Context } from "@signet/kernel/administration/records"
import { among, newestFirst, only } from "../page.ts"
import { instant, rowMapping } from "../row-mapping.ts"
import { at, type Database } from "../sql.ts"
import type { ContextTable } from "./admin-schema.ts"

const contextRows = rowMapping<Context, ContextTable>({
  id: "id",
  appId: "app_id",
  tenantId: "tenant_id",
  type: "type",
  name: "name",
  status: "status",
  createdAtMs: instant("created_at"),
  updatedAtMs: instant("updated_at"),
})

export function contexts(db: Database): Contexts {
  return {
    async insert(context) {
      await db.insertInto("context").values(contextRows.toRow(context)).execute()
    },

    async find(id) {
      const row = await db.selectFrom("context").selectAll().where("id", "=", id).executeTakeFirst()
      return row && contextRows.fromRow(row)
    },

    async lock(id) {
      const row = await db.selectFrom("context").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      return row && contextRows.fromRow(row)
    },

    async list(appId, { tenantId, ids }, page) {
      const query = db
        .selectFrom("context")
        .selectAll()
        .where("app_id", "=", appId)
        .where(only("tenant_id", tenantId))
        .where(among("id", ids))
      return (await newestFirst(query, page).execute()).map(contextRows.fromRow)
    },

    async update({ id, type, name, status, updatedAtMs }) {
      const change = { type, name, status, updated_at: at(updatedAtMs) }
      await db.updateTable("context").set(change).where("id", "=", id).execute()
    },
  }
}
