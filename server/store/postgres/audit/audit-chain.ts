// Links events that were committed, one process at a time. Nobody who appends waits for it.
import { type AuditLink, type Head, nextLink, origin } from "@signet/kernel/audit/chain"
import { shardOf } from "@signet/kernel/audit/row"
import type { AuditSeals } from "@signet/kernel/audit/seals"
import { isStamped } from "@signet/kernel/audit/verify-chains"
import type { Selectable } from "kysely"
import { retried } from "../retry.ts"
import { at, type Database, run } from "../sql.ts"
import { fromHeadRow } from "./audit-link-row.ts"
import { fromAuditRow } from "./audit-row.ts"
import type { AuditEventTable } from "./audit-schema.ts"

/** In one transaction. */
const batch = 500

const lockText = "update audit_chain set version = version + 1 where id = 1"

// What was told to wait once more by another process, while it was linked, is linked no second time.
const pendingText = `select audit_event.*,
  exists (select from audit_link where audit_link.event_id = audit_event.id) as is_linked from audit_pending
join audit_event on audit_event.id = audit_pending.event_id order by audit_pending.event_id limit ${batch}`

const headsText = `select head.* from unnest($1::text[]) as one (shard), lateral (
  select shard, seq, hash from audit_link where audit_link.shard = one.shard order by seq desc limit 1) as head`

const startsText =
  "select distinct on (shard) shard, seq, hash from audit_start where shard = any($1::text[]) order by shard, seq desc"

const insertText = `insert into audit_link (shard, seq, event_id, event_hash, linked_at, hash)
select * from unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::timestamptz[], $6::bytea[])`

const forgetText = "delete from audit_pending where event_id = any($1::text[])"

export interface LinkedBatch {
  readonly linked: number
  /** There may be more to link. */
  readonly isFull: boolean
  /** Events that somebody else wrote or changed before they were linked. They are linked as they are found. */
  readonly forged: readonly string[]
}

/** Takes the lock that all changes of the chains are made under, until the transaction ends. */
export async function lockChains(trx: Database): Promise<void> {
  // An update, not a lock: a second process waits for it at every isolation level, or runs again.
  await run(trx, lockText, [])
}

/** True when some event waits to be linked. */
export async function isAnyPending(db: Database): Promise<boolean> {
  return (await run(db, "select 1 from audit_pending limit 1", [])).length > 0
}

/**
 * Links what waits, oldest first, each event once whoever else does the same. All of the batch or nothing of it.
 *
 * @param nowMs Asked under the lock, so that links are in the order of their times.
 */
export function linkPending(db: Database, seals: AuditSeals, nowMs: () => number): Promise<LinkedBatch> {
  return retried(() =>
    db
      .transaction()
      .setIsolationLevel("read committed")
      .execute(async (trx) => {
        await lockChains(trx)
        const pending = await run<Selectable<AuditEventTable> & { is_linked: boolean }>(trx, pendingText, [])
        if (pending.length === 0) return { linked: 0, isFull: false, forged: [] }
        const rows = pending.filter(({ is_linked }) => !is_linked).map(fromAuditRow)
        const heads = await headsOf(trx, [...new Set(rows.map(shardOf))])
        const linkedAtMs = nowMs()
        const links: AuditLink[] = []
        for (const row of rows) {
          const shard = shardOf(row)
          const link = nextLink(seals, heads.get(shard) ?? origin(shard), row, linkedAtMs)
          heads.set(shard, link)
          links.push(link)
        }
        await insertLinks(trx, links)
        await run(trx, forgetText, [pending.map(({ id }) => id)])
        const forged = rows.filter((row) => row.stamp !== null && !isStamped(seals, row)).map(({ id }) => id)
        return { linked: links.length, isFull: pending.length === batch, forged }
      }),
  )
}

async function headsOf(trx: Database, shards: readonly string[]): Promise<Map<string, Head>> {
  const heads = await run<{ shard: string; seq: number; hash: Uint8Array }>(trx, headsText, [shards])
  const found = new Map(heads.map((row) => [row.shard, fromHeadRow(row)]))
  const rest = shards.filter((shard) => !found.has(shard))
  if (rest.length === 0) return found
  // Chains all of whose links were dropped.
  const starts = await run<{ shard: string; seq: number; hash: Uint8Array }>(trx, startsText, [rest])
  for (const row of starts) found.set(row.shard, fromHeadRow(row))
  return found
}

async function insertLinks(trx: Database, links: readonly AuditLink[]): Promise<void> {
  await run(trx, insertText, [
    links.map(({ shard }) => shard),
    links.map(({ seq }) => seq.toString()),
    links.map(({ eventId }) => eventId),
    links.map((link) => Buffer.from(link.eventHash)),
    links.map(({ linkedAtMs }) => at(linkedAtMs)),
    links.map(({ hash }) => Buffer.from(hash)),
  ])
}
