import type { AppId, PrincipalId, TenantId } from "@signet/kernel/ids"
import type { Place } from "@signet/kernel/messaging/records"
import { type Database, run } from "../sql.ts"
import { isClosed } from "./moving/gates.ts"

// Users with active devices who were removed from the device's place. A suspended or locked user may become active
// again and keeps the devices.
const endedText = `select distinct device.user_id, device.app_id, device.tenant_id
from messaging_device device
where device.status = 'ACTIVE' and not ${isClosed("device.app_id", "device.tenant_id")} and not (
  exists (select 1 from principal where id = device.user_id and status in ('ACTIVE', 'SUSPENDED', 'LOCKED'))
  and exists (select 1 from membership m where m.principal_id = device.user_id and m.app_id = device.app_id
    and m.tenant_id is null and m.context_id is null and m.status in ('ACTIVE', 'SUSPENDED'))
  and (device.tenant_id = '' or exists (select 1 from membership m where m.principal_id = device.user_id
    and m.app_id = device.app_id and m.tenant_id = device.tenant_id and m.context_id is null
    and m.status in ('ACTIVE', 'SUSPENDED')))
) limit $1`

interface Row {
  user_id: PrincipalId
  app_id: AppId
  tenant_id: TenantId | ""
}

/** The removed users with devices, by the auth service's tables. */
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
