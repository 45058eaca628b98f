// The facts that decide a refresh, read in one statement after the session is locked: one snapshot and one round trip.
import type { RefreshFacts } from "@signet/kernel/ports"
import type { Membership, Principal, Session } from "@signet/kernel/records"
import type { Selectable } from "kysely"
import { appRows } from "../admin/apps.ts"
import { type PlaceRow, placeFactsOf, placeText } from "../admin/places.ts"
import { endedText } from "../identity/memberships.ts"
import type { AppTable, RefreshTokenTable } from "../schema.ts"
import { type Database, run } from "../sql.ts"
import { refreshTokenRows } from "./refresh-token-row.ts"

interface Row extends PlaceRow {
  /** The columns of token and app, prefixed with the table's name. */
  [column: string]: unknown
  principal_kind: Principal["kind"] | null
  principal_identity_id: Principal["identityId"]
  principal_status: Principal["status"] | null
  identity: RefreshFacts["identity"] | null
  principal_version: string | null
  policy_version: string | null
  outer: Membership | null
  inner: Membership | null
  around: Membership | null
}

const prefixed = (table: string, columns: readonly string[]) =>
  columns.map((column) => `${table}.${column} as ${table}_${column}`).join(", ")

const ms = (column: string) => `floor(extract(epoch from ${column}) * 1000)`
/** As findMembership: the membership that is live or pending, else the newest ended one. */
const membershipText = (place: string) => `(
  select json_build_object('id', id, 'principalId', principal_id, 'appId', app_id, 'tenantId', tenant_id,
    'contextId', context_id, 'status', status, 'profile', profile, 'scopes', scopes,
    'createdAtMs', ${ms("created_at")}, 'updatedAtMs', ${ms("updated_at")})
  from membership where principal_id = $2 and app_id = $4 and ${place}
  order by status in (${endedText}), id desc limit 1
)`
const at = (tenantId: string, contextId: string) =>
  `coalesce(tenant_id, '') = ${tenantId} and coalesce(context_id, '') = ${contextId}`

const findText = `select ${prefixed("token", refreshTokenRows.columns)}, ${prefixed("app", appRows.columns)},
  principal.kind as principal_kind, principal.identity_id as principal_identity_id, principal.status as principal_status,
  identity.status as identity,
  authority_version.version as principal_version, policy_version.version as policy_version,
  ${placeText({ appId: "$4", tenantId: "$5", contextId: "$6" })},
  ${membershipText(at("''", "''"))} as outer,
  ${membershipText(at("$5", "$6"))} as inner,
  case when $5 <> '' and $6 <> '' then ${membershipText(at("$5", "''"))} end as around
from (select $1::bytea[] as hashes, $2::text as principal_id, $3::text as identity_id, $4::text as app_id) as asked
left join refresh_token as token on token.token_hash = any(asked.hashes)
left join app on app.id = asked.app_id
left join principal on principal.id = asked.principal_id
left join identity on identity.id = asked.identity_id
left join authority_version
  on authority_version.principal_id = asked.principal_id and authority_version.app_id = asked.app_id
left join policy_version on policy_version.app_id = asked.app_id
limit 1`

export async function findRefreshFacts(
  db: Database,
  tokenHashes: readonly Uint8Array[],
  session: Session,
): Promise<RefreshFacts> {
  const { principalId, identityId, appId, tenantId, contextId } = session
  const values = [tokenHashes, principalId, identityId, appId, tenantId ?? "", contextId ?? ""]
  const [row] = await run<Row>(db, findText, values)
  if (row === undefined) throw new Error("a row of one is not there")
  const { principal_kind: kind, principal_identity_id, principal_status: status } = row
  const token = rowOf<RefreshTokenTable>(row, "token", refreshTokenRows.columns)
  const app = rowOf<AppTable>(row, "app", appRows.columns)
  return {
    token: token && refreshTokenRows.fromRow(token),
    app: app && appRows.fromRow(app),
    identity: row.identity ?? undefined,
    principal:
      kind === null || status === null
        ? undefined
        : { id: principalId, kind, identityId: principal_identity_id, status },
    outer: row.outer ?? undefined,
    inner: row.inner ?? undefined,
    around: row.around ?? undefined,
    versions: { principal: Number(row.principal_version ?? 0), policy: Number(row.policy_version ?? 0) },
    place: placeFactsOf(row, { tenantId, contextId }),
  }
}

/** The row of one of the tables; undefined if the join found none. */
function rowOf<Table>(row: Row, table: "token" | "app", columns: readonly string[]): Selectable<Table> | undefined {
  if (row[`${table}_id`] === null) return undefined
  return Object.fromEntries(columns.map((column) => [column, row[`${table}_${column}`]])) as Selectable<Table>
}
