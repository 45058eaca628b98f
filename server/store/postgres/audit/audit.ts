import type { AuditEvent } from "@signet/kernel/audit/event"
import { type AuditRow, keyOwnerOf, openRow, personalOf, sealRow } from "@signet/kernel/audit/row"
import type { AuditEventId } from "@signet/kernel/ids"
import type { Page } from "@signet/kernel/page"
import type { AuditLog } from "@signet/kernel/ports"
import { sql } from "kysely"
import { lastMark } from "../batched-query.ts"
import { only } from "../page.ts"
import { atOrNull, type Database, run } from "../sql.ts"
import { auditExports } from "./audit-export.ts"
import { findKeys, ownKey } from "./audit-keys.ts"
import { auditTypes, fromAuditRow, toAuditRow } from "./audit-row.ts"
import type { AuditEventTable } from "./audit-schema.ts"
import type { AuditWriting } from "./audit-writing.ts"

const columns = Object.keys(auditTypes) as (keyof AuditEventTable)[]

/** Most transactions append no more. Each count has its own statement, which is faster. */
const mostByValues = 4

/** Inserts events and marks them as pending, in one round trip. */
function byValues(count: number): string {
  const width = columns.length
  const rows = Array.from(
    { length: count },
    (_, row) => `(${columns.map((_, i) => `$${row * width + i + 1}`).join(", ")})`,
  )
  const ids = Array.from({ length: count }, (_, row) => `($${row * width + 1})`)
  return `with pending as (insert into audit_pending (event_id) values ${ids.join(", ")})
insert into audit_event (${columns.join(", ")}) values ${rows.join(", ")}`
}

const textsByValues = Array.from({ length: mostByValues }, (_, i) => byValues(i + 1))

/** Inserts any number of events with one statement text. */
const textByArrays = `with event as (
  insert into audit_event (${columns.join(", ")})
  select * from unnest(${columns.map((column, i) => `$${i + 1}::${auditTypes[column]}[]`).join(", ")}) returning id)
insert into audit_pending (event_id) select id from event`

async function insertRows(db: Database, rows: readonly AuditEventTable[], isLast: boolean): Promise<void> {
  const mark = isLast ? lastMark : ""
  const text = textsByValues[rows.length - 1]
  if (text !== undefined)
    await run(
      db,
      mark + text,
      rows.flatMap((row) => columns.map((column) => row[column])),
    )
  else
    await run(
      db,
      mark + textByArrays,
      columns.map((column) => rows.map((row) => row[column])),
    )
}

/**
 * CTEs that write one event.
 *
 * @param first The number of the first parameter of its values.
 * @param condition An SQL condition for the write.
 */
export function appendText(first: number, condition: string): string {
  const values = columns.map((column, i) => `$${first + i}::${auditTypes[column]}`).join(", ")
  return `pending as (insert into audit_pending (event_id) select $${first}::text where ${condition}),
appended as (insert into audit_event (${columns.join(", ")}) select ${values} where ${condition})`
}

/** The values of an event, in order; undefined if the owner's key must be read from the database first. */
export function appendValues({ seals, known }: AuditWriting, event: AuditEvent): readonly unknown[] | undefined {
  const owner = personalOf(event) === null ? null : keyOwnerOf(event)
  const key = owner === null ? null : known.get(owner)
  if (key === undefined) return undefined
  const row = toAuditRow(sealRow(event, owner === null ? null : { owner, key }, seals))
  return columns.map((column) => row[column])
}

const knownText = "select id from audit_event where id = any($1::text[])"

/** The audit of one transaction. */
export interface OpenAuditLog extends AuditLog {
  /** Writes the appended events. */
  flush(): Promise<void>
  /** As `flush`, with the commit in the same round trip: the last statement of a transaction. */
  finish(): Promise<void>
  /** The transaction was committed. */
  committed(): void
}

export function auditLog(db: Database, { seals, known, onCommitted }: AuditWriting): OpenAuditLog {
  const made = new Map<string, Uint8Array>()
  let appended: AuditEvent[] = []
  let hasWritten = false

  /** The key is remembered for other transactions only after the commit. */
  async function keyOf(owner: string, nowMs: number): Promise<Uint8Array | null> {
    const key = known.get(owner) ?? made.get(owner) ?? (await ownKey(db, seals, owner, nowMs))
    if (key !== null) made.set(owner, key)
    return key
  }

  async function rowOf(event: AuditEvent): Promise<AuditRow> {
    if (personalOf(event) === null) return sealRow(event, null, seals)
    const owner = keyOwnerOf(event)
    return sealRow(event, { owner, key: await keyOf(owner, event.occurredAtMs) }, seals)
  }

  async function flush(isLast = false): Promise<void> {
    const events = appended
    appended = []
    if (events.length === 0) return
    const rows: AuditEventTable[] = []
    for (const event of events) rows.push(toAuditRow(await rowOf(event)))
    await insertRows(db, rows, isLast)
    hasWritten = true
  }

  return {
    async append(event) {
      appended.push(event)
    },

    async known(ids) {
      await flush()
      return new Set((await run<{ id: AuditEventId }>(db, knownText, [ids])).map(({ id }) => id))
    },

    flush,

    finish: () => flush(true),

    committed() {
      if (!hasWritten) return
      known.add(made)
      onCommitted()
    },

    ...auditExports(db),

    async list(filter, { size, before }) {
      await flush()
      const { kinds, principalId } = filter
      const rows = await db
        .selectFrom("audit_event")
        .selectAll()
        // App and tenant have a condition of their own, so that their index is used.
        .where(only("app_id", filter.appId))
        .where(only("tenant_id", filter.tenantId))
        .where(sql<boolean>`occurred_at >= coalesce(${atOrNull(filter.fromMs)}::timestamptz, '-infinity')`)
        .where(sql<boolean>`occurred_at < coalesce(${atOrNull(filter.untilMs)}::timestamptz, 'infinity')`)
        .where(beyond(before))
        .where(same("context_id", filter.contextId))
        .where(sql<boolean>`(${kinds.length === 0}::boolean or kind = any(${[...kinds]}::text[]))`)
        .where(same("outcome", filter.outcome))
        .where(({ or }) => or([same("actor_principal_id", principalId), same("subject_principal_id", principalId)]))
        .where(same("target_type", filter.targetType))
        .where(same("target_id", filter.targetId))
        .orderBy("occurred_at", "desc")
        .orderBy("id", "desc")
        .limit(size)
        .execute()
      const kept = rows.map(fromAuditRow)
      const owners = new Set(kept.flatMap(({ keyOwner }) => keyOwner ?? []))
      const keys = await findKeys(db, seals, [...owners])
      return kept.map((row) => openRow(row, keys.get(row.keyOwner ?? ""), seals))
    },
  }
}

// One statement text for all filters: every text is prepared on every connection, and their number is bounded.
const same = (column: keyof AuditEventTable, value: string | null) =>
  sql<boolean>`(${value}::text is null or ${sql.ref(column)} = ${value})`

const beyond = (before: Page["before"]) =>
  sql<boolean>`(occurred_at, id) < (coalesce(${atOrNull(before?.createdAtMs ?? null)}::timestamptz, 'infinity'), ${before?.id ?? ""})`
