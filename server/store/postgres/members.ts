import type { Members } from "@signet/kernel/admin-ports"
import { membershipFromRow } from "./memberships.ts"
import { newestFirst, only } from "./page.ts"
import { at, type Database } from "./sql.ts"

export function members(db: Database): Members {
  return {
    async find(id) {
      const row = await db.selectFrom("membership").selectAll().where("id", "=", id).executeTakeFirst()
      return row && membershipFromRow(row)
    },

    async lock(id) {
      const row = await db.selectFrom("membership").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      return row && membershipFromRow(row)
    },

    async list(appId, filter, page) {
      const query = db
        .selectFrom("membership")
        .selectAll()
        .where("app_id", "=", appId)
        .where(only("tenant_id", filter.tenantId))
        .where(only("context_id", filter.contextId))
        .where(only("status", filter.status))
        .where(only("principal_id", filter.principalId))
      return (await newestFirst(query, page).execute()).map(membershipFromRow)
    },

    async listOfPrincipal(id) {
      const rows = await db
        .selectFrom("membership")
        .selectAll()
        .where("principal_id", "=", id)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .execute()
      return rows.map(membershipFromRow)
    },

    async update({ id, status, profile, scopes, updatedAtMs }) {
      const change = { status, profile: JSON.stringify(profile), scopes, updated_at: at(updatedAtMs) }
      await db.updateTable("membership").set(change).where("id", "=", id).execute()
    },
  }
}
