// Links committed events into chains, in one process at a time. Appending never waits for it.
import { type AuditLink, type Head, nextLink, origin } from "@signet/kernel/audit/chain"
import type { AuditCrypto } from "@signet/kernel/audit/crypto"
import { auditChainOf } from "@signet/kernel/audit/row"
import { isStamped } from "@signet/kernel/audit/verify-chains"
import type { Selectable } from "kysely"
import { commitMarker } from "../batched-query.ts"
import { retried } from "../retry.ts"
import { at, type Database, run } from "../sql.ts"
import { fromHeadRow } from "./audit-link-row.ts"
import { fromAuditRow } from "./audit-row.ts"
import type { AuditEventTable } from "./audit-schema.ts"

/** Events per transaction. */
const batch = 500

const lockText = "update audit_chain set version = version + 1 where id = 1"

// An event that another process marked as pending while it was linked is not linked twice. The limit comes first and
// `offset 0` keeps the look-ups per event: as a join, PostgreSQL walks the whole index of audit_event.
const pendingText = `select event.*,
  exists (select from audit_link where audit_link.event_id = event.id offset 0) as is_linked
from (select event_id from audit_pending order by event_id limit ${batch}) as pending,
  lateral (select * from audit_event where id = pending.event_id offset 0) as event
order by pending.event_id`

const headsText = `select head.* from unnest($1::text[]) as one (shard), lateral (
  select shard, seq, hash from audit_link where audit_link.shard = one.shard order by seq desc limit 1) as head`

const startsText =
  "select distinct on (shard) shard, seq, hash from audit_start where shard = any($1::text[]) order by shard, seq desc"

// The transaction's last statement, which is committed in the same round trip.
const insertText = `${commitMarker}with linked as (delete from audit_pending where event_id = any($1::text[]))
insert into audit_link (shard, seq, event_id, event_hash, linked_at, hash)
select * from unnest($2::text[], $3::bigint[], $4::text[], $5::bytea[], $6::timestamptz[], $7::bytea[])`

interface LinkedBatch {
  readonly linked: number
  /** True if more events may be pending. */
  readonly isFull: boolean
  /** Events that were inserted or changed outside the service before they were linked. They are linked unchanged. */
  readonly forged: readonly string[]
}

/** Takes the lock for all changes of the chains, until the transaction ends. */
export async function lockChains(trx: Database): Promise<void> {
  // An update, not a lock: a second process waits for it, or is retried, at every isolation level.
  await run(trx, lockText, [])
}

/** True when an event is pending. */
export async function isAnyPending(db: Database): Promise<boolean> {
  return (await run(db, "select 1 from audit_pending limit 1", [])).length > 0
}

/**
 * Links pending events, oldest first, in one transaction. Concurrent calls link each event once.
 *
 * @param nowMs Called under the lock, so that links are in the order of their times.
 */
export function linkPending(db: Database, seals: AuditCrypto, nowMs: () => number): Promise<LinkedBatch> {
  return retried(() =>
    db
      .transaction()
      .setIsolationLevel("read committed")
      .execute(async (trx) => {
        await lockChains(trx)
        const pending = await run<Selectable<AuditEventTable> & { is_linked: boolean }>(trx, pendingText, [])
        if (pending.length === 0) return { linked: 0, isFull: false, forged: [] }
        const rows = pending.filter(({ is_linked }) => !is_linked).map(fromAuditRow)
        const heads = await headsOf(trx, [...new Set(rows.map(auditChainOf))])
        const linkedAtMs = nowMs()
        const links: AuditLink[] = []
        for (const row of rows) {
          const shard = auditChainOf(row)
          const link = nextLink(seals, heads.get(shard) ?? origin(shard), row, linkedAtMs)
          heads.set(shard, link)
          links.push(link)
        }
        await insertLinks(trx, links, pending)
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
  // Chains whose links were all dropped.
  const starts = await run<{ shard: string; seq: number; hash: Uint8Array }>(trx, startsText, [rest])
  for (const row of starts) found.set(row.shard, fromHeadRow(row))
  return found
}

async function insertLinks(
  trx: Database,
  links: readonly AuditLink[],
  pending: readonly Pick<AuditEventTable, "id">[],
): Promise<void> {
  await run(trx, insertText, [
    pending.map(({ id }) => id),
    links.map(({ shard }) => shard),
    links.map(({ seq }) => seq.toString()),
    links.map(({ eventId }) => eventId),
    links.map((link) => Buffer.from(link.eventHash)),
    links.map(({ linkedAtMs }) => at(linkedAtMs)),
    links.map(({ hash }) => Buffer.from(hash)),
  ])
}
