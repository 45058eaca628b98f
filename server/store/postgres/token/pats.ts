import type { Pats } from "@signet/kernel/machine/ports"
import type { Pat } from "@signet/kernel/machine/records"
import type { Selectable } from "kysely"
import type { PatTable } from "../machine/machine-schema.ts"
import { isAfterCursor } from "../page.ts"
import { bytea, instant, rowMapping } from "../row-mapping.ts"
import { at, type Database, insertInto, run } from "../sql.ts"

export const patRows = rowMapping<Pat, PatTable>({
  id: "id",
  principalId: "principal_id",
  identityId: "identity_id",
  appId: "app_id",
  tenantId: "tenant_id",
  contextId: "context_id",
  name: "name",
  tokenHash: bytea("token_hash"),
  last4: "last4",
  allowedAudiences: "allowed_audiences",
  scopes: "scopes",
  createdAtMs: instant("created_at"),
  expiresAtMs: instant("expires_at"),
  lastUsedAtMs: instant("last_used_at"),
  revokedAtMs: instant("revoked_at"),
  revokeReason: "revoke_reason",
})

const insertText = insertInto("pat", patRows.columns)
const lockText = `select ${patRows.columns.join(", ")} from pat where id = $1 for update`
const findText = `select ${patRows.columns.join(", ")} from pat where token_hash = any($1::bytea[]) limit 1`
const revokeText =
  "update pat set revoked_at = $2, revoke_reason = $3 where id = $1 and revoked_at is null returning id"
const markUsedText = `update pat set last_used_at = $2
where id = $1 and (last_used_at is null or last_used_at <= $2::timestamptz - interval '1 minute')`

export function pats(db: Database): Pats {
  return {
    async insert(pat) {
      await run(db, insertText, patRows.values(pat))
    },

    async lock(id) {
      const [row] = await run<Selectable<PatTable>>(db, lockText, [id])
      return row && patRows.fromRow(row)
    },

    async findByHash(hashes) {
      const [row] = await run<Selectable<PatTable>>(db, findText, [hashes])
      return row && patRows.fromRow(row)
    },

    async list(principalId, appId, { size, before }) {
      const rows = await db
        .selectFrom("pat")
        .select(patRows.columns)
        .where("principal_id", "=", principalId)
        .where("app_id", "=", appId)
        .where(isAfterCursor(before))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(size)
        .execute()
      return rows.map(patRows.fromRow)
    },

    async revoke(id, reason, nowMs) {
      return (await run(db, revokeText, [id, at(nowMs), reason])).length === 1
    },

    async markUsed(id, nowMs) {
      await run(db, markUsedText, [id, at(nowMs)])
    },
  }
}
