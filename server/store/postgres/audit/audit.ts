import type { AuditEvent } from "@signet/kernel/audit/event"
import { type AuditRow, decryptRow, keyOwnerOf, personalOf, sealRow } from "@signet/kernel/audit/row"
import type { AuditEventId } from "@signet/kernel/ids"
import type { AuditLog } from "@signet/kernel/ports"
import { commitMarker } from "../batched-query.ts"
import { array, type Database, run } from "../sql.ts"
import { countEvents } from "./audit-count.ts"
import { auditExports } from "./audit-export.ts"
import { findKeys, ownKey } from "./audit-keys.ts"
import { listEvents } from "./audit-list.ts"
import type { AuditLogDeps } from "./audit-log-deps.ts"
import { auditTypes, fromAuditRow, toAuditRow } from "./audit-row.ts"
import type { AuditEventTable } from "./audit-schema.ts"

const columns = Object.keys(auditTypes) as (keyof AuditEventTable)[]

/** Up to this many rows, a fixed VALUES statement per row count is used: it is faster than `unnest`. */
const maxRowsByValues = 4

/** SQL of CTEs that write something else. `first` is the number of their first parameter. */
type Ctes = (first: number) => string

/** SQL that inserts this many events and marks them as pending, in one round trip. The first column is the id. */
function insertByValues(count: number, others: Ctes | undefined): string {
  const width = columns.length
  const rows = Array.from(
    { length: count },
    (_, row) => `(${columns.map((_, i) => `$${row * width + i + 1}`).join(", ")})`,
  )
  const ids = Array.from({ length: count }, (_, row) => `($${row * width + 1})`)
  return `with ${others ? `${others(count * width + 1)}, ` : ""}pending as (
  insert into audit_pending (event_id) values ${ids.join(", ")})
insert into audit_event (${columns.join(", ")}) values ${rows.join(", ")}`
}

/** SQL that inserts any number of events. */
const insertByArrays = (others: Ctes | undefined) => `with ${others ? `${others(columns.length + 1)}, ` : ""}event as (
  insert into audit_event (${columns.join(", ")})
  select * from unnest(${columns.map((column, i) => `$${i + 1}::${auditTypes[column]}[]`).join(", ")}) returning id)
insert into audit_pending (event_id) select id from event`

/** The texts by their other CTEs, then by the number of events; 0 for arrays. */
const insertTexts = new Map<Ctes | undefined, string[]>()

function insertText(count: number, others: Ctes | undefined): string {
  const texts = insertTexts.get(others) ?? []
  insertTexts.set(others, texts)
  const at = count <= maxRowsByValues ? count : 0
  const text = texts[at] ?? (at === 0 ? insertByArrays(others) : insertByValues(count, others))
  texts[at] = text
  return text
}

interface Write {
  readonly ctes: Ctes
  readonly values: readonly unknown[]
}

async function insertRows(
  db: Database,
  rows: readonly AuditEventTable[],
  { write, isLast }: { write: Write | undefined; isLast: boolean },
): Promise<void> {
  const values =
    rows.length <= maxRowsByValues
      ? rows.flatMap((row) => columns.map((column) => row[column]))
      : columns.map((column) => rows.map((row) => row[column]))
  const text = (isLast ? commitMarker : "") + insertText(rows.length, write?.ctes)
  await run(db, text, [...values, ...(write?.values ?? [])])
}

/**
 * SQL of CTEs that write one event.
 *
 * @param first The number of the first parameter of its values.
 * @param condition An SQL condition for the write.
 */
export function appendCtes(first: number, condition: string): string {
  const values = columns.map((column, i) => `$${first + i}::${auditTypes[column]}`).join(", ")
  return `pending as (insert into audit_pending (event_id) select $${first}::text where ${condition}),
appended as (insert into audit_event (${columns.join(", ")}) select ${values} where ${condition})`
}

/**
 * SQL of CTEs that write some of several events.
 *
 * @param first The number of the first parameter; each is an array with a value for each event.
 * @param chosen SQL that selects the places of the events to write, from 1.
 */
export function appendAllCtes(first: number, chosen: string): string {
  const arrays = columns.map((column, i) => array(first + i, auditTypes[column])).join(", ")
  return `event as (
  select ${columns.join(", ")} from unnest(${arrays}) with ordinality as each (${columns.join(", ")}, place)
  where place in (${chosen})
), pending as (insert into audit_pending (event_id) select id from event),
appended as (insert into audit_event (${columns.join(", ")}) select ${columns.join(", ")} from event)`
}

/** The values of an event, in order; undefined if the owner's key must be read from the database first. */
export function appendValues({ seals, keyCache }: AuditLogDeps, event: AuditEvent): readonly unknown[] | undefined {
  const owner = personalOf(event) === null ? null : keyOwnerOf(event)
  const key = owner === null ? null : keyCache.get(owner)
  if (key === undefined) return undefined
  const row = toAuditRow(sealRow(event, owner === null ? null : { owner, key }, seals))
  return columns.map((column) => row[column])
}

const storedIdsText = `select id from audit_event where id = any(${array(1, "text")})`

/** The audit log inside one transaction. */
export interface TransactionAuditLog extends AuditLog {
  /**
   * Writes something else in the statement of the appended events, at most once in a transaction with an event.
   *
   * @param ctes The same function for the same text.
   */
  writeAlong(ctes: Ctes, values: readonly unknown[]): void
  /** Writes the appended events. */
  flush(): Promise<void>
  /**
   * Writes the appended events with the transaction's last statement: the connection sends COMMIT with it, in one round
   * trip. Without events it does nothing.
   */
  finish(): Promise<void>
  /** Call after the commit. */
  afterCommit(): void
}

export function auditLog(db: Database, { seals, keyCache, onCommitted }: AuditLogDeps): TransactionAuditLog {
  const usedKeys = new Map<string, Uint8Array>()
  let appended: AuditEvent[] = []
  let along: Write | undefined
  let hasWritten = false

  /** Null if the owner's key was erased. A key that this transaction creates is cached only after the commit. */
  async function keyOf(owner: string, nowMs: number): Promise<Uint8Array | null> {
    const key = keyCache.get(owner) ?? usedKeys.get(owner) ?? (await ownKey(db, seals, owner, nowMs))
    if (key !== null) usedKeys.set(owner, key)
    return key
  }

  async function rowOf(event: AuditEvent): Promise<AuditRow> {
    if (personalOf(event) === null) return sealRow(event, null, seals)
    const owner = keyOwnerOf(event)
    return sealRow(event, { owner, key: await keyOf(owner, event.occurredAtMs) }, seals)
  }

  async function flush(isLast = false): Promise<void> {
    const [events, write] = [appended, along]
    if (events.length === 0 && write === undefined) return
    if (events.length === 0) throw new Error("a transaction writes along with no event")
    appended = []
    along = undefined
    const rows: AuditEventTable[] = []
    for (const event of events) rows.push(toAuditRow(await rowOf(event)))
    await insertRows(db, rows, { write, isLast })
    hasWritten = true
  }

  return {
    async append(event) {
      appended.push(event)
    },

    writeAlong(ctes, values) {
      if (along !== undefined) throw new Error("a transaction has another write to send along")
      along = { ctes, values }
    },

    async storedIds(ids) {
      await flush()
      return new Set((await run<{ id: AuditEventId }>(db, storedIdsText, [ids])).map(({ id }) => id))
    },

    flush,

    finish: () => flush(true),

    afterCommit() {
      if (!hasWritten) return
      keyCache.add(usedKeys)
      onCommitted()
    },

    ...auditExports(db),

    async count(query) {
      await flush()
      return countEvents(db, query)
    },

    async list(filter, page) {
      await flush()
      const rows = await listEvents(db, filter, page)
      const auditRows = rows.map(fromAuditRow)
      const owners = new Set(auditRows.flatMap(({ keyOwner }) => keyOwner ?? []))
      const keys = await findKeys(db, seals, [...owners])
      return auditRows.map((row) => decryptRow(row, keys.get(row.keyOwner ?? ""), seals))
    },
  }
}
