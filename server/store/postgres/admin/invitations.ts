import type { Invitations } from "@signet/kernel/administration/ports"
import type { Invitation } from "@signet/kernel/administration/records"
import { sql } from "kysely"
import { newestFirst, only } from "../page.ts"
import { bytea, instant, rowMapping } from "../row-mapping.ts"
import { atOrNull, type Database } from "../sql.ts"
import type { InvitationTable } from "./admin-schema.ts"

const invitationRows = rowMapping<Invitation, InvitationTable>({
  id: "id",
  appId: "app_id",
  tenantId: "tenant_id",
  contextId: "context_id",
  principalId: "principal_id",
  codeHash: bytea("code_hash"),
  scopes: "scopes",
  invitedBy: "invited_by",
  status: "status",
  createdAtMs: instant("created_at"),
  expiresAtMs: instant("expires_at"),
  answeredAtMs: instant("answered_at"),
  membershipId: "membership_id",
})

export function invitations(db: Database): Invitations {
  return {
    async insert(invitation) {
      await db.insertInto("invitation").values(invitationRows.toRow(invitation)).execute()
    },

    async lock(id) {
      const row = await db.selectFrom("invitation").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      return row && invitationRows.fromRow(row)
    },

    async lockByCode(hashes) {
      const row = await db
        .selectFrom("invitation")
        .selectAll()
        .where(sql<boolean>`code_hash = any(${hashes}::bytea[])`)
        .forUpdate()
        .executeTakeFirst()
      return row && invitationRows.fromRow(row)
    },

    async lockByMembership(id) {
      const row = await db
        .selectFrom("invitation")
        .selectAll()
        .where("membership_id", "=", id)
        .where("status", "=", "PENDING")
        .forUpdate()
        .executeTakeFirst()
      return row && invitationRows.fromRow(row)
    },

    async list(appId, { tenantId, contextId }, page) {
      const query = db
        .selectFrom("invitation")
        .selectAll()
        .where("app_id", "=", appId)
        .where(only("tenant_id", tenantId))
        .where(only("context_id", contextId))
      return (await newestFirst(query, page).execute()).map(invitationRows.fromRow)
    },

    async update({ id, status, answeredAtMs, membershipId }) {
      const change = { status, answered_at: atOrNull(answeredAtMs), membership_id: membershipId }
      await db.updateTable("invitation").set(change).where("id", "=", id).execute()
    },
  }
}
