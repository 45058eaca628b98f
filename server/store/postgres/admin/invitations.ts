import type { Invitations } from "@signet/kernel/administration/ports"
import type { Invitation } from "@signet/kernel/administration/records"
import { type Selectable, sql } from "kysely"
import { newestFirst, only } from "../page.ts"
import { at, atOrNull, bytes, type Database, msOrNull } from "../sql.ts"
import type { InvitationTable } from "./admin-schema.ts"

export function invitations(db: Database): Invitations {
  return {
    async insert(invitation) {
      await db.insertInto("invitation").values(toRow(invitation)).execute()
    },

    async lock(id) {
      const row = await db.selectFrom("invitation").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      return row && fromRow(row)
    },

    async lockByCode(hashes) {
      const row = await db
        .selectFrom("invitation")
        .selectAll()
        .where(sql<boolean>`code_hash = any(${hashes}::bytea[])`)
        .forUpdate()
        .executeTakeFirst()
      return row && fromRow(row)
    },

    async lockByMembership(id) {
      const row = await db
        .selectFrom("invitation")
        .selectAll()
        .where("membership_id", "=", id)
        .where("status", "=", "PENDING")
        .forUpdate()
        .executeTakeFirst()
      return row && fromRow(row)
    },

    async list(appId, { tenantId, contextId }, page) {
      const query = db
        .selectFrom("invitation")
        .selectAll()
        .where("app_id", "=", appId)
        .where(only("tenant_id", tenantId))
        .where(only("context_id", contextId))
      return (await newestFirst(query, page).execute()).map(fromRow)
    },

    async update({ id, status, answeredAtMs, membershipId }) {
      const change = { status, answered_at: atOrNull(answeredAtMs), membership_id: membershipId }
      await db.updateTable("invitation").set(change).where("id", "=", id).execute()
    },
  }
}

const fromRow = (row: Selectable<InvitationTable>): Invitation => ({
  id: row.id,
  appId: row.app_id,
  tenantId: row.tenant_id,
  contextId: row.context_id,
  principalId: row.principal_id,
  codeHash: bytes(row.code_hash),
  scopes: row.scopes,
  invitedBy: row.invited_by,
  status: row.status,
  createdAtMs: row.created_at.getTime(),
  expiresAtMs: row.expires_at.getTime(),
  answeredAtMs: msOrNull(row.answered_at),
  membershipId: row.membership_id,
})

const toRow = (invitation: Invitation): InvitationTable => ({
  id: invitation.id,
  app_id: invitation.appId,
  tenant_id: invitation.tenantId,
  context_id: invitation.contextId,
  principal_id: invitation.principalId,
  code_hash: invitation.codeHash,
  scopes: invitation.scopes,
  invited_by: invitation.invitedBy,
  status: invitation.status,
  created_at: at(invitation.createdAtMs),
  expires_at: at(invitation.expiresAtMs),
  answered_at: atOrNull(invitation.answeredAtMs),
  membership_id: invitation.membershipId,
})
