// The facts that decide a client's call, from one statement: one snapshot and one round trip.
import type { PlaceStatus } from "@signet/kernel/administration/records"
import type { ContextId, ServiceSecretId, TenantId } from "@signet/kernel/ids"
import type { ClientFacts, ClientQuestion } from "@signet/kernel/machine/ports"
import type { App, Membership, Principal } from "@signet/kernel/records"
import { placeFactsOf, placeText } from "../admin/places.ts"
import { endedText } from "../identity/memberships.ts"
import { at, type Database, run } from "../sql.ts"
import { accountFromRow, accountText, type ServiceAccountRow } from "./service-account-row.ts"

/** All null for an unknown client. */
export type ClientRow = { [Column in keyof ServiceAccountRow]: ServiceAccountRow[Column] | null } & {
  app: PlaceStatus | null
  tenant: PlaceStatus | null
  context: PlaceStatus | null
  app_scopes: App["scopes"] | null
  principal: Principal["status"] | null
  principal_version: string | null
  policy_version: string | null
  secrets: readonly [id: ServiceSecretId, hash: string, lastUsedAtMs: number | null][] | null
  keys: readonly [kid: string, x: string, y: string][] | null
  memberships: readonly [status: Membership["status"], TenantId | null, ContextId | null][] | null
}

type By = "client_id" | "principal_id"

/**
 * The requested client. For an unknown id, the next client or else the first one: the statement then reads as much as
 * for a known id, so its duration does not reveal which ids exist. Both branches are always read. `clientOf` drops a
 * row that was not requested.
 */
const foundText = `(select client_id from (
    (select client_id, 1 as rank from service_account where client_id >= asked.who order by client_id limit 1)
    union all
    (select client_id, 2 as rank from service_account where asked.who is not null order by client_id limit 1)
  ) as candidate order by rank limit 1)`

/** The SQL of a question's four values. */
interface Asked {
  readonly who: string
  readonly tenant: string
  readonly context: string
  readonly now: string
}

/** @param first The number of the first of the four parameters of clientValues. */
const parametersFrom = (first: number): Asked => ({
  who: `$${first}`,
  tenant: `$${first + 1}`,
  context: `$${first + 2}`,
  now: `$${first + 3}`,
})

/**
 * The columns of a ClientRow and their source: exactly one row.
 *
 * @param of The question's values, or the number of the first of the four parameters of clientValues.
 * @param isAsked An SQL condition; where it is false, nothing is read.
 */
export function clientText(by: By, of: number | Asked, isAsked = "true"): { columns: string; from: string } {
  const { who, tenant, context, now } = typeof of === "number" ? parametersFrom(of) : of
  const place = {
    appId: "service_account.app_id",
    tenantId: `coalesce(nullif(${tenant}::text, ''), service_account.tenant_id, '')`,
    contextId: `${context}::text`,
  }
  const columns = `${accountText}, ${placeText(place)},
  app.scopes as app_scopes, principal.status as principal,
  authority_version.version as principal_version, policy_version.version as policy_version, (
    select json_agg(json_build_array(id, encode(secret_hash, 'hex'), extract(epoch from last_used_at) * 1000)
      order by created_at desc, id desc)
    from service_secret
    where service_account_id = service_account.id and revoked_at is null and expires_at > ${now}::timestamptz
  ) as secrets, (
    select json_agg(json_build_array(kid, x, y) order by created_at desc, kid) from service_key
    where service_account_id = service_account.id and revoked_at is null
  ) as keys, (
    select json_agg(json_build_array(status, tenant_id, context_id)) from membership
    where principal_id = service_account.principal_id and app_id = service_account.app_id
      and status not in (${endedText})
  ) as memberships`
  const from = `(select case when ${isAsked} then ${who}::text end as who) as asked
left join service_account on service_account.${by} = ${by === "client_id" ? foundText : "asked.who"}
left join app on app.id = service_account.app_id
left join principal on principal.id = service_account.principal_id
left join authority_version on authority_version.principal_id = service_account.principal_id
  and authority_version.app_id = service_account.app_id
left join policy_version on policy_version.app_id = service_account.app_id`
  return { columns, from }
}

export function clientValues({ who, tenantId, contextId, nowMs }: ClientQuestion): readonly unknown[] {
  return ["clientId" in who ? who.clientId : who.principalId, tenantId ?? "", contextId ?? "", at(nowMs)]
}

const textBy = (by: By): string => {
  const { columns, from } = clientText(by, 1)
  return `select ${columns} from ${from}`
}
const textByClientId = textBy("client_id")
const textByPrincipal = textBy("principal_id")

/** The columns of a client and their source as one subquery, `facts`, and a hash of all of its values. */
export function taggedText(of: number | Asked, isAsked?: string): { facts: string; tag: string } {
  const { columns, from } = clientText("client_id", of, isAsked)
  return {
    facts: `(select ${columns} from ${from}) as facts`,
    tag: "encode(sha256(convert_to(facts::text, 'UTF8')), 'hex')",
  }
}

export async function findClient(db: Database, question: ClientQuestion): Promise<ClientFacts | undefined> {
  const text = "clientId" in question.who ? textByClientId : textByPrincipal
  const [row] = await run<ClientRow>(db, text, clientValues(question))
  return row && clientOf(row, question)
}

const isFound = (row: ClientRow): row is ClientRow & ServiceAccountRow => row.id !== null

export function clientOf(row: ClientRow, question: ClientQuestion): ClientFacts | undefined {
  if (!isFound(row)) return undefined
  const account = accountFromRow(row)
  const tenantId = question.tenantId ?? account.tenantId
  const facts = placeFactsOf(row, { tenantId, contextId: question.contextId ?? null })
  const found: ClientFacts = {
    account,
    app: row.app === null ? undefined : { id: account.appId, status: row.app, scopes: row.app_scopes ?? [] },
    principal: row.principal ?? undefined,
    versions: { principal: Number(row.principal_version ?? 0), policy: Number(row.policy_version ?? 0) },
    secrets: (row.secrets ?? []).map(([id, hash, lastUsedAtMs]) => ({
      id,
      secretHash: new Uint8Array(Buffer.from(hash, "hex")),
      lastUsedAtMs,
    })),
    keys: (row.keys ?? []).map(([kid, x, y]) => ({ kid, x, y })),
    memberships: (row.memberships ?? []).map(([status, tenantId, contextId]) => ({ status, tenantId, contextId })),
    place: { tenantId, facts },
  }
  // Read like a known client, then dropped: the row for an unknown id is another client's.
  const isAsked = "principalId" in question.who || question.who.clientId === account.clientId
  return isAsked ? found : undefined
}
