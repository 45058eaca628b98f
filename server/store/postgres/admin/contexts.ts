import type { Contexts } from "@signet/kernel/administration/ports"
import type { Context } from "@signet/kernel/administration/records"
import type { Selectable } from "kysely"
import { newestFirst, only } from "../page.ts"
import { at, type Database } from "../sql.ts"
import type { ContextTable } from "./admin-schema.ts"

export function contexts(db: Database): Contexts {
  return {
    async insert(context) {
      await db.insertInto("context").values(toRow(context)).execute()
    },

    async find(id) {
      const row = await db.selectFrom("context").selectAll().where("id", "=", id).executeTakeFirst()
      return row && fromRow(row)
    },

    async lock(id) {
      const row = await db.selectFrom("context").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      return row && fromRow(row)
    },

    async list(appId, tenantId, page) {
      const query = db.selectFrom("context").selectAll().where("app_id", "=", appId).where(only("tenant_id", tenantId))
      return (await newestFirst(query, page).execute()).map(fromRow)
    },

    async update({ id, type, name, status, updatedAtMs }) {
      const change = { type, name, status, updated_at: at(updatedAtMs) }
      await db.updateTable("context").set(change).where("id", "=", id).execute()
    },
  }
}

const fromRow = (row: Selectable<ContextTable>): Context => ({
  id: row.id,
  appId: row.app_id,
  tenantId: row.tenant_id,
  type: row.type,
  name: row.name,
  status: row.status,
  createdAtMs: row.created_at.getTime(),
  updatedAtMs: row.updated_at.getTime(),
})

const toRow = (context: Context): ContextTable => ({
  id: context.id,
  app_id: context.appId,
  tenant_id: context.tenantId,
  type: context.type,
  name: context.name,
  status: context.status,
  created_at: at(context.createdAtMs),
  updated_at: at(context.updatedAtMs),
})
