// Members of a tenant by the thousand, inserted into PostgreSQL directly.
import { sql } from "kysely"
import type { Database } from "../../server/store/postgres/sql.ts"

export interface ManyMembers {
  readonly appId: string
  readonly tenantId: string
  /** The role of nearly all members. */
  readonly commonRoleId: string
  /** Each of these roles is held by `perRareRole` members instead, spread evenly. */
  readonly rareRoleIds: readonly string[]
  readonly perRareRole: number
  /** Numbers of the members: above `from`, up to `to`. A member's number is in all of its ids. */
  readonly from: number
  readonly to: number
  readonly issuer: string
}

/** The verified address of a member. */
export const emailOfMember = (number: number): string => `member${number}@many.example`

export const principalOfMember = (number: number): string => `prn_${String(number).padStart(26, "0")}`

/**
 * Inserts people as sign-ups and an administrator would: identity, principal, provider account, memberships of the app
 * and of the tenant, and a grant in the tenant. A higher number is an older record.
 */
export async function addManyMembers(db: Database, many: ManyMembers): Promise<void> {
  const { appId, tenantId, commonRoleId, rareRoleIds, perRareRole, from, to, issuer } = many
  const id = (prefix: string) => `'${prefix}_' || lpad(g::text, 26, '0')`
  // Memberships of the tenant have even numbers, and those of the app the odd ones before them.
  const membership = (offset: number) => `'mem_' || lpad((2 * g - ${offset})::text, 26, '0')`
  const at = "now() - g * interval '1 second'"
  const count = rareRoleIds.length * perRareRole
  const every = Math.max(1, Math.floor((to - from) / count))
  const rare = `(array[${rareRoleIds.map((roleId) => `'${roleId}'`).join(", ")}])[n % ${rareRoleIds.length} + 1]`
  const roleOf = `(select case when (g - ${from}) % ${every} = 0 and n <= ${count} then ${rare} else '${commonRoleId}' end
    from (select (g - ${from}) / ${every} as n) as numbered)`
  const profile = "jsonb_build_object('name', 'Member ' || g, 'email', 'member' || g || '@many.example')"
  const member = `'ACTIVE', ${profile}, '{}', ${at}, ${at}`
  const memberColumns = "id, principal_id, app_id, tenant_id, status, profile, scopes, created_at, updated_at"
  const rows: readonly (readonly [table: string, columns: string, values: string])[] = [
    [
      "identity",
      "id, status, primary_email, created_at, updated_at",
      `${id("idn")}, 'ACTIVE', 'member' || g || '@many.example', ${at}, ${at}`,
    ],
    ["principal", "id, kind, identity_id, status", `${id("prn")}, 'USER', ${id("idn")}, 'ACTIVE'`],
    [
      "provider_account",
      "id, identity_id, provider, issuer, subject, email, status, created_at",
      `${id("pac")}, ${id("idn")}, 'IDP_A', '${issuer}', 'many' || g, 'member' || g || '@many.example', 'LINKED', ${at}`,
    ],
    ["membership", memberColumns, `${membership(1)}, ${id("prn")}, '${appId}', null, ${member}`],
    ["membership", memberColumns, `${membership(0)}, ${id("prn")}, '${appId}', '${tenantId}', ${member}`],
    [
      "role_grant",
      "id, principal_id, role_id, app_id, tenant_id, granted_by, reason, status, created_at",
      `${id("grt")}, ${id("prn")}, ${roleOf}, '${appId}', '${tenantId}', ${id("prn")}, '', 'ACTIVE', ${at}`,
    ],
  ]
  await db.connection().execute(async (session) => {
    // The rows are complete, and checks of foreign keys take most of the time.
    await sql`set session_replication_role = replica`.execute(session)
    for (const [table, columns, values] of rows) {
      await sql
        .raw(`insert into ${table} (${columns}) select ${values} from generate_series(${from + 1}, ${to}) as g
          on conflict do nothing`)
        .execute(session)
    }
    await sql`set session_replication_role = origin`.execute(session)
  })
  await sql`vacuum (analyze) identity, principal, provider_account, membership, role_grant`.execute(db)
}

/** Inserts roles of a tenant. A higher number is an older record. @returns The id of the oldest. */
export async function addManyRoles(db: Database, of: { appId: string; tenantId: string; count: number }) {
  const at = sql`now() - g * interval '1 second'`
  await sql`insert into role
      (id, app_id, tenant_id, key, description, permissions, inheritable, assignable_at, status, created_at, updated_at)
    select 'rol_' || lpad(g::text, 26, '0'), ${of.appId}, ${of.tenantId}, 'many.' || g, 'Role ' || g, '{}', true, '{}',
      'ACTIVE', ${at}, ${at}
    from generate_series(1, ${sql.lit(of.count)}) as g`.execute(db)
  return `rol_${String(of.count).padStart(26, "0")}`
}
