import type { Pats } from "@signet/kernel/machine/ports"
import type { Pat } from "@signet/kernel/machine/records"
import type { Selectable } from "kysely"
import type { PatTable } from "../machine/machine-schema.ts"
import { after } from "../page.ts"
import { at, atOrNull, bytes, type Database, insertInto, msOrNull, run } from "../sql.ts"

const columns = [
  "id",
  "principal_id",
  "identity_id",
  "app_id",
  "tenant_id",
  "context_id",
  "name",
  "token_hash",
  "last4",
  "allowed_audiences",
  "scopes",
  "created_at",
  "expires_at",
  "last_used_at",
  "revoked_at",
  "revoke_reason",
] as const satisfies readonly (keyof PatTable)[]

const insertText = insertInto("pat", columns)
const lockText = `select ${columns.join(", ")} from pat where id = $1 for update`
const findText = `select ${columns.join(", ")} from pat where token_hash = any($1::bytea[]) limit 1`
const revokeText =
  "update pat set revoked_at = $2, revoke_reason = $3 where id = $1 and revoked_at is null returning id"
const markUsedText = `update pat set last_used_at = $2
where id = $1 and (last_used_at is null or last_used_at <= $2::timestamptz - interval '1 minute')`

export function pats(db: Database): Pats {
  return {
    async insert(pat) {
      const row = toRow(pat)
      await run(
        db,
        insertText,
        columns.map((column) => row[column]),
      )
    },

    async lock(id) {
      const [row] = await run<Selectable<PatTable>>(db, lockText, [id])
      return row && patFromRow(row)
    },

    async findByHash(hashes) {
      const [row] = await run<Selectable<PatTable>>(db, findText, [hashes])
      return row && patFromRow(row)
    },

    async list(principalId, appId, { size, before }) {
      const rows = await db
        .selectFrom("pat")
        .select(columns)
        .where("principal_id", "=", principalId)
        .where("app_id", "=", appId)
        .where(after(before))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(size)
        .execute()
      return rows.map(patFromRow)
    },

    async revoke(id, reason, nowMs) {
      return (await run(db, revokeText, [id, at(nowMs), reason])).length === 1
    },

    async markUsed(id, nowMs) {
      await run(db, markUsedText, [id, at(nowMs)])
    },
  }
}

export const patFromRow = (row: Selectable<PatTable>): Pat => ({
  id: row.id,
  principalId: row.principal_id,
  identityId: row.identity_id,
  appId: row.app_id,
  tenantId: row.tenant_id,
  contextId: row.context_id,
  name: row.name,
  tokenHash: bytes(row.token_hash),
  last4: row.last4,
  allowedAudiences: row.allowed_audiences,
  scopes: row.scopes,
  createdAtMs: row.created_at.getTime(),
  expiresAtMs: row.expires_at.getTime(),
  lastUsedAtMs: msOrNull(row.last_used_at),
  revokedAtMs: msOrNull(row.revoked_at),
  revokeReason: row.revoke_reason,
})

const toRow = (pat: Pat): PatTable => ({
  id: pat.id,
  principal_id: pat.principalId,
  identity_id: pat.identityId,
  app_id: pat.appId,
  tenant_id: pat.tenantId,
  context_id: pat.contextId,
  name: pat.name,
  token_hash: pat.tokenHash,
  last4: pat.last4,
  allowed_audiences: pat.allowedAudiences,
  scopes: pat.scopes,
  created_at: at(pat.createdAtMs),
  expires_at: at(pat.expiresAtMs),
  last_used_at: atOrNull(pat.lastUsedAtMs),
  revoked_at: atOrNull(pat.revokedAtMs),
  revoke_reason: pat.revokeReason,
})
