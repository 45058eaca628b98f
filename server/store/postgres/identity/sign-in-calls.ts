// A sign-in of an existing member in two statements outside of a transaction, which calls share. Neither waits for a row
// that another call has locked.
import type { Entering, SignInAuthority, SignInCalls, SignInRecords } from "@signet/kernel/ports"
import { principalColumns } from "../admin/principal-row.ts"
import { appendAllCtes, appendValues } from "../audit/audit.ts"
import { batched } from "../batches.ts"
import { byParameter, isLateText } from "../limits/count-several.ts"
import { retried } from "../retry.ts"
import { prefixed } from "../row-mapping.ts"
import { refreshTokenRows } from "../session/refresh-token-row.ts"
import { sessionRows } from "../session/sessions.ts"
import { findTogether } from "../several.ts"
import { array, at, bytes, type Database, run } from "../sql.ts"
import type { TransactionOptions } from "../transaction.ts"
import { accountRows, identityRows } from "./identities.ts"
import {
  type AuthorityRow,
  authorityColumns,
  authorityOf,
  placeColumns,
  type RecordsRow,
  recordsOf,
} from "./sign-ins.ts"

const accountKey = `account_row.provider = $5 and account_row.issuer = $6 and account_row.subject = $7
  and coalesce(account_row.provider_tenant, '') = $8`
const findText = `select ${placeColumns()},
  ${prefixed("identity_row", identityRows.columns)}, ${prefixed("principal_row", principalColumns)},
  ${prefixed("account_row", accountRows.columns)}, audit_data_key.key_sealed,
  ${authorityColumns({ principalId: "principal_row.id", appId: "$1", tenantId: "$2::text", contextId: "$3::text" })}
from (select 1) as one
left join provider_account as account_row on ${accountKey}
left join identity as identity_row on identity_row.id = account_row.identity_id
left join principal as principal_row on principal_row.identity_id = account_row.identity_id and principal_row.kind = 'USER'
left join app on app.id = $1
left join audit_data_key on audit_data_key.owner = principal_row.id`

type FoundRow = RecordsRow & AuthorityRow & { readonly key_sealed: Uint8Array | null }

/** The records for which a sign-in was decided, then the change. */
const wantedTypes = {
  account_id: "text",
  identity_id: "text",
  principal_id: "text",
  app_id: "text",
  tenant_id: "text",
  context_id: "text",
  client_id: "text",
  version: "bigint",
  session_id: "text",
  used_at: "timestamptz",
  email: "text",
}
const names = Object.keys(wantedTypes)
const wantedValues = ({ session, version, email }: Entering): readonly unknown[] => [
  ...[session.providerAccountId, session.identityId, session.principalId, session.appId],
  ...[session.tenantId, session.contextId, session.providerClientId, version],
  ...[session.id, at(session.createdAtMs), email],
]

const numberOf = (name: keyof typeof wantedTypes) => names.indexOf(name) + 1
const anyOf = (name: keyof typeof wantedTypes) => `any(${array(numberOf(name), "text")})`
const uses = names.length + 1
const rows = uses + 3
const events = rows + 2

/** SQL of a table with the ids of the active rows that are locked in their newest state. */
const locked = (table: string, name: keyof typeof wantedTypes, lock: "update" | "key share", also = "") =>
  `select id${also} from ${table} where id = ${anyOf(name)} and status = 'ACTIVE' order by id for ${lock} skip locked`

/**
 * Locks the records of each sign-in, and writes it if none of them has changed. A provider's token is used up under the
 * account's lock, which every other use of it holds, so no call waits for the other one's commit.
 *
 * A change of a membership raises the version. The lock on its row returns the newest one, although the statement sees
 * all other rows as they were before.
 */
const enterAllText = `with wanted as materialized (
  select * from unnest(${Object.values(wantedTypes)
    .map((type, i) => array(i + 1, type))
    .join(", ")}) with ordinality as each (${names.join(", ")}, place)
), token_use as materialized (
  select * from unnest(${array(uses, "bigint")}, ${array(uses + 1, "bytea")}, ${array(uses + 2, "timestamptz")})
    as each (place, token_hash, expires_at)
), locked_app as materialized (
  ${locked("app", "app_id", "key share")}
), locked_tenant as materialized (
  ${locked("tenant", "tenant_id", "key share", ", app_id")}
), locked_context as materialized (
  ${locked("context", "context_id", "key share", ", app_id, tenant_id")}
), locked_client as materialized (
  ${locked("provider_client", "client_id", "key share")}
), locked_identity as materialized (
  ${locked("identity", "identity_id", "update")}
), locked_principal as materialized (
  ${locked("principal", "principal_id", "update", ", identity_id")}
), locked_account as materialized (
  select id, identity_id from provider_account
  where id = ${anyOf("account_id")} and status in ('LINKED', 'REVOKED') order by id for update skip locked
), locked_version as materialized (
  select principal_id, app_id, version from authority_version
  where principal_id = ${anyOf("principal_id")} and app_id = ${anyOf("app_id")}
  order by principal_id, app_id for share skip locked
), fresh as materialized (
  select distinct on (wanted.account_id) wanted.* from wanted
  join locked_app on locked_app.id = wanted.app_id
  join locked_client on locked_client.id = wanted.client_id
  join locked_identity on locked_identity.id = wanted.identity_id
  join locked_principal on locked_principal.id = wanted.principal_id and locked_principal.identity_id = wanted.identity_id
  join locked_account on locked_account.id = wanted.account_id and locked_account.identity_id = wanted.identity_id
  join locked_version on locked_version.principal_id = wanted.principal_id and locked_version.app_id = wanted.app_id
    and locked_version.version = wanted.version
  where (wanted.tenant_id is null or exists (
      select from locked_tenant where id = wanted.tenant_id and app_id = wanted.app_id
    ))
    and (wanted.context_id is null or exists (
      select from locked_context
      where id = wanted.context_id and app_id = wanted.app_id and tenant_id is not distinct from wanted.tenant_id
    ))
    and not exists (
      select from token_use join token_use as other using (token_hash)
      where token_use.place = wanted.place and other.place < wanted.place
    )
    and not (${isLateText})
  order by wanted.account_id, wanted.place
), used as (
  insert into id_token_use (token_hash, expires_at)
  select token_hash, expires_at from token_use where place in (select place from fresh)
  on conflict (token_hash) do nothing returning token_hash
), entered as materialized (
  select * from fresh where not exists (
    select from token_use where place = fresh.place and token_hash not in (select token_hash from used)
  )
), account as (
  update provider_account as kept set last_used_at = entered.used_at, email = coalesce(entered.email, kept.email),
    status = case when kept.status = 'REVOKED' then 'LINKED' else kept.status end
  from entered where kept.id = entered.account_id
), new_session as (
  insert into session (${sessionRows.columns.join(", ")})
  select ${sessionRows.columns.join(", ")} from json_populate_recordset(null::session, $${rows}::json)
  where id in (select session_id from entered)
), new_token as (
  insert into refresh_token (${refreshTokenRows.columns.join(", ")})
  select ${refreshTokenRows.columns.join(", ")} from json_populate_recordset(null::refresh_token, $${rows + 1}::json)
  where session_id in (select session_id from entered)
), of_event as materialized (
  select * from unnest(${array(events, "bigint")}) with ordinality as each (call, place)
), ${appendAllCtes(events + 1, "select place from of_event where call in (select place from entered)")}
select place as call from entered`

/** The text of rows for json_populate_recordset. */
const jsonRows = (rows: readonly object[]): string => JSON.stringify(rows.map(jsonRow))
const jsonRow = (row: object): object =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      value instanceof Uint8Array ? `\\x${Buffer.from(value).toString("hex")}` : value,
    ]),
  )

interface Enter {
  readonly entering: Entering
  /** The values of the sealed events. */
  readonly events: readonly (readonly unknown[])[]
}
interface Answer {
  readonly isEntered: boolean
}

export function signInCalls(db: Database, { audit }: TransactionOptions): SignInCalls {
  const find = findTogether<FoundRow>((...of) => retried(() => run(db, ...of)), findText, Array(8).fill("text"))
  const enter = batched<Enter, Answer>({
    runAll: (calls) =>
      retried(async () => {
        const rows = await run<{ call: number }>(db, enterAllText, enterAllValues(calls))
        if (rows.length > 0) audit.onCommitted()
        const entered = new Set(rows.map(({ call }) => call))
        return calls.map((_, i) => ({ isEntered: entered.has(i + 1) }))
      }),
    // The caller's transaction decides.
    runAlone: async () => ({ isEntered: false }),
  })
  return {
    async find({ place, clientId, account }): Promise<SignInRecords & { authority: SignInAuthority | undefined }> {
      const { appId, tenantId, contextId } = place
      const { provider, issuer, subject, providerTenant } = account
      const key = [provider, issuer, subject, providerTenant ?? ""]
      const row = await find([appId, tenantId ?? "", contextId ?? "", clientId, ...key])
      if (row === undefined) throw new Error("a row of one is not there")
      const records = recordsOf(row, place)
      const owner = records.principal?.id
      if (owner !== undefined && row.key_sealed !== null && audit.keyCache.get(owner) === undefined) {
        const opened = audit.seals.openDataKey(owner, bytes(row.key_sealed))
        if (opened !== undefined) audit.keyCache.add(new Map([[owner, opened]]))
      }
      return { ...records, authority: owner && authorityOf(row) }
    },

    async enter(entering, events) {
      if (entering.token.sessionId !== entering.session.id) throw new RangeError("the token belongs to another session")
      const sealed = events.flatMap((event) => [appendValues(audit, event) ?? []])
      // The first event of a person needs a key of its own.
      if (sealed.some((values) => values.length === 0)) return false
      return (await enter({ entering, events: sealed })).isEntered
    },
  }
}

function enterAllValues(calls: readonly Enter[]): readonly unknown[] {
  const uses = calls.flatMap(({ entering }, i) => entering.uses.map((use) => ({ ...use, call: i + 1 })))
  const events = calls.flatMap(({ events }, i) => events.map((values) => [i + 1, ...values]))
  return [
    ...byParameter(calls.map(({ entering }) => wantedValues(entering))),
    uses.map(({ call }) => call),
    uses.map(({ tokenHash }) => Buffer.from(tokenHash)),
    uses.map(({ expiresAtMs }) => at(expiresAtMs)),
    jsonRows(calls.map(({ entering }) => sessionRows.toRow(entering.session))),
    jsonRows(calls.map(({ entering }) => refreshTokenRows.toRow(entering.token))),
    ...byParameter(events),
  ]
}
