import type { AppId, PrincipalId, TenantId } from "@signet/kernel/ids"
import type { Place } from "@signet/kernel/messaging/records"
import { type Database, run } from "../sql.ts"
import { isClosed } from "./moving/gates.ts"

// Users with active devices or archives at a place that they were removed from. A suspended or locked user may become
// active again and keeps them. An archive that is deleted already is due at the epoch.
const endedText = `select held.user_id, held.app_id, held.tenant_id
from (
  select user_id, app_id, tenant_id from messaging_device where status = 'ACTIVE'
  union select user_id, app_id, tenant_id from archive_list where due_at > 'epoch'
) held
where not ${isClosed("held.app_id", "held.tenant_id")} and not (
  exists (select 1 from principal where id = held.user_id and status in ('ACTIVE', 'SUSPENDED', 'LOCKED'))
  and exists (select 1 from membership m where m.principal_id = held.user_id and m.app_id = held.app_id
    and m.tenant_id is null and m.context_id is null and m.status in ('ACTIVE', 'SUSPENDED'))
  and (held.tenant_id = '' or exists (select 1 from membership m where m.principal_id = held.user_id
    and m.app_id = held.app_id and m.tenant_id = held.tenant_id and m.context_id is null
    and m.status in ('ACTIVE', 'SUSPENDED')))
) limit $1`

interface Row {
  user_id: PrincipalId
  app_id: AppId
  tenant_id: TenantId | ""
}

/** The removed users with devices or archives, by the auth service's tables. */
export async function endedUsers(
  db: Database,
  limit: number,
): Promise<readonly { userId: PrincipalId; place: Place }[]> {
  const rows = await run<Row>(db, endedText, [limit])
  return rows.map(({ user_id, app_id, tenant_id }) => ({
    userId: user_id,
    place: { appId: app_id, tenantId: tenant_id === "" ? null : tenant_id },
  }))
}
