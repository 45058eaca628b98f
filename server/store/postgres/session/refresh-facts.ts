// The facts that decide a refresh, read in one statement after the session is locked: one snapshot and one round trip.
import type { RefreshFacts } from "@signet/kernel/ports"
import type { Membership, Principal, Session } from "@signet/kernel/records"
import { appRows } from "../admin/apps.ts"
import { type PlaceRow, placeFactsOf, placeText } from "../admin/places.ts"
import { endedText } from "../identity/memberships.ts"
import { prefixed, rowOf } from "../row-mapping.ts"
import type { AppTable, RefreshTokenTable } from "../schema.ts"
import { type Database, run } from "../sql.ts"
import { refreshTokenRows } from "./refresh-token-row.ts"

export interface FactsRow extends PlaceRow {
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

const ms = (column: string) => `floor(extract(epoch from ${column}) * 1000)`
type Asked = Readonly<Record<"principalId" | "identityId" | "appId" | "tenantId" | "contextId", string>>

/** As findMembership: the membership that is live or pending, else the newest ended one. */
export const membershipText = ({ principalId, appId }: Asked, tenantId: string, contextId: string) => `(
  select json_build_object('id', id, 'principalId', principal_id, 'appId', app_id, 'tenantId', tenant_id,
    'contextId', context_id, 'status', status, 'profile', profile, 'scopes', scopes,
    'createdAtMs', ${ms("created_at")}, 'updatedAtMs', ${ms("updated_at")})
  from membership where principal_id = ${principalId} and app_id = ${appId}
    and coalesce(membership.tenant_id, '') = ${tenantId} and coalesce(membership.context_id, '') = ${contextId}
  order by status in (${endedText}), id desc limit 1
)`

/**
 * SQL of a FactsRow: its columns, and the joins that follow a source with `token`.
 *
 * @param asked SQL expressions of the session's columns. For tenant and context, the empty text stands for none.
 */
export function factsText(asked: Asked): { readonly columns: string; readonly joins: string } {
  const { principalId, identityId, appId, tenantId, contextId } = asked
  return {
    columns: `${prefixed("token", refreshTokenRows.columns)}, ${prefixed("app", appRows.columns)},
  principal.kind as principal_kind, principal.identity_id as principal_identity_id, principal.status as principal_status,
  identity.status as identity,
  authority_version.version as principal_version, policy_version.version as policy_version,
  ${placeText(asked)},
  ${membershipText(asked, "''", "''")} as outer,
  ${membershipText(asked, tenantId, contextId)} as inner,
  case when ${tenantId} <> '' and ${contextId} <> '' then ${membershipText(asked, tenantId, "''")} end as around`,
    joins: `left join app on app.id = ${appId}
left join principal on principal.id = ${principalId}
left join identity on identity.id = ${identityId}
left join authority_version on authority_version.principal_id = ${principalId} and authority_version.app_id = ${appId}
left join policy_version on policy_version.app_id = ${appId}`,
  }
}

/** For a statement that joins the session. */
export const sessionPlace: Asked = {
  principalId: "session.principal_id",
  identityId: "session.identity_id",
  appId: "session.app_id",
  tenantId: "coalesce(session.tenant_id, '')",
  contextId: "coalesce(session.context_id, '')",
}

const byParameters = factsText({ principalId: "$2", identityId: "$3", appId: "$4", tenantId: "$5", contextId: "$6" })
const findText = `select ${byParameters.columns}
from (select $1::bytea[] as hashes) as asked
left join refresh_token as token on token.token_hash = any(asked.hashes)
${byParameters.joins}
limit 1`

export async function findRefreshFacts(
  db: Database,
  tokenHashes: readonly Uint8Array[],
  session: Session,
): Promise<RefreshFacts> {
  const { principalId, identityId, appId, tenantId, contextId } = session
  const values = [tokenHashes, principalId, identityId, appId, tenantId ?? "", contextId ?? ""]
  const [row] = await run<FactsRow>(db, findText, values)
  if (row === undefined) throw new Error("a row of one is not there")
  return factsOf(row, session)
}

export function factsOf(row: FactsRow, { principalId, tenantId, contextId }: Session): RefreshFacts {
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
