// The counts of audit events in buckets of time.
import type { CountQuery, EventCount, EventCounts } from "@signet/kernel/audit/count"
import { type RawBuilder, sql } from "kysely"
import { only } from "../page.ts"
import { at, type Database } from "../sql.ts"

/** @param db A transaction, because it sets how its statements are planned. */
export async function countEvents(db: Database, query: CountQuery): Promise<EventCounts> {
  const { fromMs, untilMs, widthMs } = query.buckets
  // A generic plan may sort all events of a long time range to find the newest. A plan for the values reads the index in
  // its order, and stops.
  await sql`set local plan_cache_mode = force_custom_plan`.execute(db)
  const countedFromMs = await findStart(db, query)
  const by = (group: CountQuery["groupBy"][number], column: string) =>
    sql`case when ${query.groupBy.includes(group)}::boolean then ${sql.ref(column)} end`
  const { rows } = await sql<Omit<EventCount, "startMs"> & { readonly start: Date }>`
    select date_bin(${widthMs}::bigint * interval '1 millisecond', occurred_at, ${at(fromMs)}::timestamptz) as start,
      ${by("KIND", "kind")} as kind, ${by("OUTCOME", "outcome")} as outcome, ${by("REASON", "reason")} as reason,
      count(*)::int as count
    from audit_event where ${isOfPlace(query)} and ${isWithin(countedFromMs, untilMs)}
      and (${query.contextId}::text is null or context_id = ${query.contextId})
      and (${query.outcome}::text is null or outcome = ${query.outcome})
      and (${query.kinds.length === 0}::boolean or kind = any(${[...query.kinds]}::text[]))
    group by 1, 2, 3, 4 order by 1, 2, 3, 4`.execute(db)
  return { counts: rows.map(({ start, ...of }) => ({ startMs: start.getTime(), ...of })), countedFromMs }
}

/**
 * The time from which the place has at most `most` events. Events of contexts, kinds and outcomes that the query leaves
 * out count, because the server reads them, too.
 */
async function findStart(db: Database, query: CountQuery): Promise<number> {
  const { fromMs, untilMs } = query.buckets
  const { rows } = await sql<{ readonly occurred_at: Date }>`
    select occurred_at from audit_event where ${isOfPlace(query)} and ${isWithin(fromMs, untilMs)}
    order by occurred_at desc, id desc offset ${query.most} limit 1`.execute(db)
  // The millisecond of the first event that is too many is left out as a whole, so that the next count begins with it.
  const [tooMany] = rows
  return tooMany === undefined ? fromMs : tooMany.occurred_at.getTime() + 1
}

const isOfPlace = ({ appId, tenantId }: CountQuery): RawBuilder<boolean> =>
  sql`${only("app_id", appId)} and ${only("tenant_id", tenantId)}`

const isWithin = (fromMs: number, untilMs: number): RawBuilder<boolean> =>
  sql`occurred_at >= ${at(fromMs)} and occurred_at < ${at(untilMs)}`
