// Audit events by the thousand, inserted into the database directly: without stamp and link.
import { sql } from "kysely"
import type { Database } from "../../server/store/postgres/sql.ts"

interface ManyEvents {
  readonly appId: string
  readonly tenantId?: string
  readonly kind: string
  readonly outcome?: "SUCCESS" | "FAILURE" | "DENIED"
  readonly reason?: string
  /** Time of the first event. */
  readonly startMs: number
  readonly everyMs: number
  readonly count: number
}

let added = 0

export async function addEvents(db: Database, events: ManyEvents): Promise<void> {
  const { appId, tenantId = null, kind, outcome = "SUCCESS", reason = null, startMs, everyMs, count } = events
  const first = added
  added += count
  await sql`insert into audit_event
      (id, occurred_at, kind, outcome, reason, app_id, tenant_id, request_id, request_route)
    select 'aud_' || lpad((${first}::bigint + g)::text, 26, '0'),
      ${new Date(startMs)}::timestamptz + g * ${everyMs}::bigint * interval '1 millisecond',
      ${kind}, ${outcome}, ${reason}, ${appId}, ${tenantId}, '', ''
    from generate_series(0, ${count - 1}::int) as g`.execute(db)
  await sql`analyze audit_event`.execute(db)
}
