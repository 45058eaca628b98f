// Lists events by filters. The text depends on the filters that an index serves: each is a plain condition, because an
// optional one (`$1 is null or …`) cannot use its index. The other filters are optional conditions of one text: each
// distinct text is prepared on every connection, and the number of prepared statements is limited.
import type { AuditFilter } from "@signet/kernel/audit/filter"
import { eventsNamedBy } from "@signet/kernel/audit/token-event"
import type { Page } from "@signet/kernel/page"
import { type RawBuilder, type Selectable, sql } from "kysely"
import { only } from "../page.ts"
import { atOrNull, type Database } from "../sql.ts"
import type { AuditEventTable } from "./audit-schema.ts"

type Row = Selectable<AuditEventTable>

export async function listEvents(db: Database, filter: AuditFilter, page: Page): Promise<readonly Row[]> {
  return (await textOf(filter, page).execute(db)).rows
}

function textOf(filter: AuditFilter, page: Page): RawBuilder<Row> {
  const { kinds, principalId, targetId } = filter
  const from = (condition: RawBuilder<unknown>) => sql<Row>`(
    select * from audit_event where ${condition} and ${matches(filter, page)}
    order by occurred_at desc, id desc limit ${page.size})`
  const first = (rows: RawBuilder<Row>) =>
    sql<Row>`select found.* from ${rows} as found order by occurred_at desc, id desc limit ${page.size}`

  const isOfPrincipal = sql`(actor_principal_id = ${principalId} or subject_principal_id = ${principalId})`
  if (targetId !== null) {
    const isOf = principalId === null ? sql`true` : isOfPrincipal
    const ofTarget = from(sql`target_id = ${targetId} and ${isOf}`)
    const named = eventsNamedBy(targetId)
    if (named.length === 0) return first(ofTarget)
    // The event of a token's issue has the token's id as its target, or an id that the token's own id names.
    const byId = from(sql`id = any(${[...named]}::text[])
      and target_id is distinct from ${targetId} and ${isOf}`)
    return first(sql<Row>`(${ofTarget} union all ${byId})`)
  }
  if (principalId !== null) {
    // Two indexes, each in the order of the list: `or` would sort all events of the principal.
    const asActor = from(sql`actor_principal_id = ${principalId}`)
    const asSubject = from(sql`subject_principal_id = ${principalId}
      and subject_principal_id is distinct from actor_principal_id`)
    return first(sql<Row>`(${asActor} union all ${asSubject})`)
  }
  if (kinds.length > 0) {
    return first(
      sql<Row>`unnest(${[...new Set(kinds)]}::text[]) as asked (kind), lateral ${from(sql`kind = asked.kind`)}`,
    )
  }
  return first(from(sql`true`))
}

const matches = ({ kinds, ...filter }: AuditFilter, { before }: Page) => sql<boolean>`
  ${only("app_id", filter.appId)} and ${only("tenant_id", filter.tenantId)}
  and occurred_at >= coalesce(${atOrNull(filter.fromMs)}::timestamptz, '-infinity')
  and occurred_at < coalesce(${atOrNull(filter.untilMs)}::timestamptz, 'infinity')
  and (occurred_at, id) < (
    coalesce(${atOrNull(before?.createdAtMs ?? null)}::timestamptz, 'infinity'), ${before?.id ?? ""})
  and ${optional("context_id", filter.contextId)} and ${optional("outcome", filter.outcome)}
  and ${optional("target_type", filter.targetType)}
  and (${kinds.length === 0}::boolean or audit_event.kind = any(${[...kinds]}::text[]))`

const optional = (column: keyof AuditEventTable, value: string | null) =>
  sql<boolean>`(${value}::text is null or ${sql.ref(column)} = ${value})`
