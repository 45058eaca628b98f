import type { Principal } from "@signet/kernel/records"
import type { Selectable } from "kysely"
import type { PrincipalTable } from "../schema.ts"

export const principalColumns = ["id", "kind", "identity_id", "status", "lock_expires_at", "lock_reason"] as const

export const principalFromRow = (
  row: Pick<Selectable<PrincipalTable>, (typeof principalColumns)[number]>,
): Principal => ({
  id: row.id,
  kind: row.kind,
  identityId: row.identity_id,
  status: row.status,
  ...(row.lock_expires_at && { lock: { expiresAtMs: row.lock_expires_at.getTime(), reason: row.lock_reason ?? "" } }),
})
