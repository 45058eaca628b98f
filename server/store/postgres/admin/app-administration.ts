import type { AppAdministration } from "@signet/kernel/administration/ports"
import { newestFirst } from "../page.ts"
import type { Database } from "../sql.ts"
import { appRows, clientRows } from "./apps.ts"

export function appAdministration(db: Database): AppAdministration {
  return {
    async lockApp(id) {
      const row = await db.selectFrom("app").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      return row && appRows.fromRow(row)
    },

    async findInstallation() {
      const row = await db.selectFrom("app").selectAll().where("is_installation", "=", true).executeTakeFirst()
      return row && appRows.fromRow(row)
    },

    async insertApp(app) {
      const inserted = await db
        .insertInto("app")
        .values(appRows.toRow(app))
        .onConflict((conflict) => conflict.doNothing())
        .returning("id")
        .execute()
      return inserted.length === 1
    },

    async listApps(page) {
      return (await newestFirst(db.selectFrom("app").selectAll(), page).execute()).map(appRows.fromRow)
    },

    async lockProviderClient(id) {
      const row = await db.selectFrom("provider_client").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      return row && clientRows.fromRow(row)
    },

    async insertProviderClient(client) {
      const inserted = await db
        .insertInto("provider_client")
        .values(clientRows.toRow(client))
        .onConflict((conflict) => conflict.columns(["app_id", "provider", "platform", "connection"]).doNothing())
        .returning("id")
        .execute()
      return inserted.length === 1
    },

    async listProviderClients(appId, page) {
      const query = db.selectFrom("provider_client").selectAll().where("app_id", "=", appId)
      return (await newestFirst(query, page).execute()).map(clientRows.fromRow)
    },

    async findProviderClients(provider) {
      const rows = await db
        .selectFrom("provider_client")
        .innerJoin("app", "app.id", "provider_client.app_id")
        .selectAll("provider_client")
        .where("provider", "=", provider)
        .where("provider_client.status", "=", "ACTIVE")
        .where("app.status", "=", "ACTIVE")
        .orderBy("provider_client.id")
        .execute()
      return rows.map(clientRows.fromRow)
    },
  }
}
