import type { Place } from "@signet/kernel/administration/ports"
import type { PermissionSnapshot } from "@signet/kernel/authz/effective"
import type { HeldGrant } from "@signet/kernel/authz/grants"
import type { AuthorityVersions } from "@signet/kernel/authz/versions"
import type { AppId, ContextId, PrincipalId, RoleId, TenantId } from "@signet/kernel/ids"
import type { AppScope } from "@signet/kernel/records"
import { at, type Database, msOrNull, run } from "../sql.ts"

// One statement, so that versions, grants, roles and scopes are from one snapshot.
const findText = `select app.scopes, authority_version.version as principal_version, policy_version.version as policy_version,
  g.role_id, g.tenant_id, g.context_id, g.resource_type, g.resource_id, g.expires_at, role.key, role.permissions,
  role.inheritable
from (select $1::text as principal_id, $2::text as app_id) as asked
left join app on app.id = asked.app_id
left join authority_version
  on authority_version.principal_id = asked.principal_id and authority_version.app_id = asked.app_id
left join policy_version on policy_version.app_id = asked.app_id
left join (role_grant as g join role on role.id = g.role_id and role.status = 'ACTIVE')
  on g.principal_id = asked.principal_id and g.app_id = asked.app_id and g.status = 'ACTIVE'
  and (g.expires_at is null or g.expires_at > $5)
  and (g.tenant_id is null or g.tenant_id = $3) and (g.context_id is null or g.context_id = $4)
order by g.id`

interface Row {
  scopes: readonly AppScope[] | null
  principal_version: string | null
  policy_version: string | null
  role_id: RoleId | null
  tenant_id: TenantId | null
  context_id: ContextId | null
  resource_type: string | null
  resource_id: string | null
  expires_at: Date | null
  key: string
  permissions: readonly string[]
  inheritable: boolean
}

export async function findSnapshot(
  db: Database,
  of: { principalId: PrincipalId; nowMs: number } & Place,
): Promise<{ versions: AuthorityVersions; snapshot: PermissionSnapshot }> {
  const rows = await run<Row>(db, findText, [of.principalId, of.appId, of.tenantId, of.contextId, at(of.nowMs)])
  const [first] = rows
  const scopes = (first?.scopes ?? []).flatMap(({ key, permissions = [] }) =>
    permissions.length === 0 ? [] : [[key, new Set(permissions)] as const],
  )
  const usable = new Set(scopes.flatMap(([, permissions]) => [...permissions]))
  const held = rows.flatMap((row) => (row.role_id === null ? [] : [{ ...row, role_id: row.role_id }]))
  return {
    versions: { principal: Number(first?.principal_version ?? 0), policy: Number(first?.policy_version ?? 0) },
    snapshot: {
      roles: new Map(
        held.map(({ role_id, key, permissions, inheritable }) => [
          role_id,
          { key, permissions: new Set(permissions.filter((one) => usable.has(one))), inheritable },
        ]),
      ),
      scopes: new Map(scopes),
      grants: held.map((row) => grantOf(row, of.appId)),
    },
  }
}

const grantOf = (row: Row & { role_id: RoleId }, appId: AppId): HeldGrant => ({
  roleId: row.role_id,
  appId,
  tenantId: row.tenant_id,
  contextId: row.context_id,
  resource:
    row.resource_type === null || row.resource_id === null ? null : { type: row.resource_type, id: row.resource_id },
  expiresAtMs: msOrNull(row.expires_at),
})
