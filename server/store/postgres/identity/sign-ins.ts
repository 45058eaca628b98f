// The statements of a sign-in: one that locks, one that reads under the locks, and one that writes.
import type { Place } from "@signet/kernel/administration/ports"
import type { LockedSignIn, SignInAuthority, SignInRecords, SignIns } from "@signet/kernel/ports"
import type { Membership, ProviderClient } from "@signet/kernel/records"
import { appRows } from "../admin/apps.ts"
import { type PlaceRow, placeFactsOf, placeText } from "../admin/places.ts"
import { principalColumns, principalFromRow } from "../admin/principal-row.ts"
import type { TransactionAuditLog } from "../audit/audit.ts"
import { prefixed, rowOf } from "../row-mapping.ts"
import type { AppTable, IdentityTable, PrincipalTable, ProviderAccountTable } from "../schema.ts"
import { membershipText } from "../session/refresh-facts.ts"
import { refreshTokenRows } from "../session/refresh-token-row.ts"
import { sessionRows } from "../session/sessions.ts"
import { at, type Database, run } from "../sql.ts"
import { accountRows, identityRows } from "./identities.ts"

/** The columns of place and client, for the parameters $1 to $4. */
export const placeColumns = (
  lock = "",
): string => `${placeText({ appId: "$1", tenantId: "$2", contextId: "$3" }, lock)},
  (select status from provider_client where id = $4 ${lock}) as client`

// Each part counts the rows of the previous one, so the locks are taken in order. A locked row is read in its newest
// state; `found` is from before the locks.
const lockText = `with place as materialized (
  select ${placeColumns("for key share")}
), found as materialized (
  select id, identity_id from provider_account
  where provider = $5 and issuer = $6 and subject = $7 and coalesce(provider_tenant, '') = $8
    and (select count(*) from place) = 1
), identity_row as materialized (
  select ${identityRows.columns.join(", ")} from identity where id = (select identity_id from found) for update
), principal_row as materialized (
  select ${principalColumns.join(", ")} from principal
  where identity_id = (select identity_id from found) and kind = 'USER' and (select count(*) from identity_row) >= 0
  for update
), account_row as materialized (
  select ${accountRows.columns.join(", ")} from provider_account
  where id = (select id from found) and (select count(*) from principal_row) >= 0 for update
)
select place.*, found.identity_id as found_identity_id, ${prefixed("identity_row", identityRows.columns)},
  ${prefixed("principal_row", principalColumns)}, ${prefixed("account_row", accountRows.columns)}
from place left join found on true left join identity_row on true left join principal_row on true
left join account_row on true`

type Asked = Readonly<Record<"principalId" | "appId" | "tenantId" | "contextId", string>>

/** The columns of an AuthorityRow, for a statement that joins the app. For tenant and context, the empty text stands for none. */
export const authorityColumns = ({ principalId, appId, tenantId, contextId }: Asked): string => {
  const asked = { principalId, identityId: "", appId, tenantId, contextId }
  return `${prefixed("app", appRows.columns)},
  (select version from authority_version where principal_id = ${principalId} and app_id = ${appId}) as principal,
  (select version from policy_version where app_id = ${appId}) as policy,
  ${membershipText(asked, "''", "''")} as outer,
  ${membershipText(asked, tenantId, contextId)} as inner,
  case when ${tenantId} <> '' and ${contextId} <> '' then ${membershipText(asked, tenantId, "''")} end as around`
}

const asked = { principalId: "$1", appId: "$2", tenantId: "$3::text", contextId: "$4::text" }
const authorityText = `select ${authorityColumns(asked)} from (select 1) as one left join app on app.id = $2`

type Row = Readonly<Record<string, unknown>>
export interface AuthorityRow extends Row {
  readonly principal: string | number | null
  readonly policy: string | number | null
  readonly outer: Membership | null
  readonly inner: Membership | null
  readonly around: Membership | null
}
export type RecordsRow = Row & PlaceRow & { readonly client: ProviderClient["status"] | null }
type LockedRow = RecordsRow & { readonly found_identity_id: LockedSignIn["identityId"] | null }

/** The records in a row with the prefixes `identity_row`, `principal_row` and `account_row`. */
export function recordsOf(row: RecordsRow, place: Place): SignInRecords {
  const identity = rowOf<IdentityTable>(row, "identity_row", identityRows.columns)
  const principal = rowOf<PrincipalTable>(row, "principal_row", principalColumns)
  const account = rowOf<ProviderAccountTable>(row, "account_row", accountRows.columns)
  return {
    place: placeFactsOf(row, place),
    client: row.client ?? undefined,
    identity: identity && identityRows.fromRow(identity),
    principal: principal && principalFromRow(principal),
    account: account && accountRows.fromRow(account),
  }
}

export function authorityOf(row: AuthorityRow): SignInAuthority {
  const app = rowOf<AppTable>(row, "app", appRows.columns)
  return {
    app: app && appRows.fromRow(app),
    outer: row.outer ?? undefined,
    inner: row.inner ?? undefined,
    around: row.around ?? undefined,
    versions: { principal: Number(row.principal ?? 0), policy: Number(row.policy ?? 0) },
  }
}

function writeCtes(first: number): string {
  const sessionColumns = sessionRows.columns
  const parameter = (i: number) => `$${first + i}`
  const tokenFirst = sessionColumns.length
  const last = tokenFirst + refreshTokenRows.columns.length
  return `used as (
  update provider_account set last_used_at = ${parameter(last + 1)}, email = coalesce(${parameter(last + 2)}, email),
    status = case when status = 'REVOKED' then 'LINKED' else status end
  where id = ${parameter(last)}
), new_session as (
  insert into session (${sessionColumns.join(", ")}) values (${sessionColumns.map((_, i) => parameter(i)).join(", ")})
), new_token as (
  insert into refresh_token (${refreshTokenRows.columns.join(", ")})
  values (${refreshTokenRows.columns.map((_, i) => parameter(tokenFirst + i)).join(", ")})
)`
}

export function signIns(db: Database, audit: Pick<TransactionAuditLog, "writeAlong">): SignIns {
  return {
    async lock({ place, clientId, account }) {
      const { appId, tenantId, contextId } = place
      const { provider, issuer, subject, providerTenant } = account
      const values = [appId, tenantId ?? "", contextId ?? "", clientId, provider, issuer, subject, providerTenant ?? ""]
      const [row] = await run<LockedRow>(db, lockText, values)
      if (row === undefined) throw new Error("a row of one is not there")
      return { ...recordsOf(row, place), identityId: row.found_identity_id ?? undefined }
    },

    async findAuthority(principalId, { appId, tenantId, contextId }) {
      const [row] = await run<AuthorityRow>(db, authorityText, [principalId, appId, tenantId ?? "", contextId ?? ""])
      if (row === undefined) throw new Error("a row of one is not there")
      return authorityOf(row)
    },

    insertSession(session, token, used) {
      if (token.sessionId !== session.id) throw new RangeError("the token belongs to another session")
      audit.writeAlong(writeCtes, [
        ...sessionRows.values(session),
        ...refreshTokenRows.values(token),
        ...[used && session.providerAccountId, at(session.createdAtMs), used?.email ?? null],
      ])
    },
  }
}
