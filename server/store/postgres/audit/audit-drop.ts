// Drops old audit events of each chain, up to a head that a checkpoint signed. The rest verifies from that head.
import type { AuditEvent } from "@signet/kernel/audit/event"
import { CompiledQuery } from "kysely"
import { at, bytes, type Database, run } from "../sql.ts"
import { auditLog } from "./audit.ts"
import { lockChains } from "./audit-chain.ts"
import { fromHeadRow } from "./audit-link-row.ts"
import type { AuditLogDeps } from "./audit-log-deps.ts"
import { startText } from "./audit-verify.ts"

const headsText = `select distinct on (head.shard) head.shard, head.seq, head.hash from audit_checkpoint_head as head
join audit_checkpoint on audit_checkpoint.number = head.number
where audit_checkpoint.created_at < $1
  and exists (select from audit_link where audit_link.shard = head.shard and audit_link.seq = head.seq
    and audit_link.hash = head.hash)
order by head.shard, head.seq desc`

const startsText = "insert into audit_start (shard, seq, hash, dropped_at, stamp) values ($1, $2, $3, $4, $5)"

const linksText = `with dropped as (delete from audit_link where shard = $1 and seq <= $2 returning event_id)
delete from audit_event where id in (select event_id from dropped)`

export interface Dropped {
  readonly chains: number
  readonly events: number
}

/**
 * Drops the events that checkpoints before `untilMs` cover; the checkpoints stay. Each chain's new start is stamped, so
 * that nobody else can make a chain start later. Requires the rights of the tables' owner.
 */
export function dropUntil(
  db: Database,
  { seals, ...writing }: AuditLogDeps,
  { untilMs, nowMs, event }: { untilMs: number; nowMs: number; event: AuditEvent },
): Promise<Dropped> {
  return db
    .transaction()
    .setIsolationLevel("read committed")
    .execute(async (trx) => {
      await lockChains(trx)
      const rows = await run<{ shard: string; seq: number; hash: Uint8Array }>(trx, headsText, [at(untilMs)])
      let events = 0
      for (const head of rows.map(fromHeadRow)) {
        const stamp = Buffer.from(seals.stamp(startText(head)))
        const seq = head.seq.toString()
        await run(trx, startsText, [head.shard, seq, Buffer.from(head.hash), at(nowMs), stamp])
        const { numAffectedRows = 0n } = await trx.executeQuery(CompiledQuery.raw(linksText, [head.shard, seq]))
        events += Number(numAffectedRows)
      }
      const log = auditLog(trx, { seals, ...writing })
      await log.append(event)
      await log.flush()
      return { chains: rows.length, events }
    })
}

const restampText = "update audit_start set stamp = $3 where shard = $1 and seq = $2"

/**
 * Stamps the chains' starts with the current key, in the transaction that retires a key. Requires the rights of the
 * tables' owner.
 */
export async function restampStarts(trx: Database, seals: AuditLogDeps["seals"]): Promise<void> {
  const rows = await run<{ shard: string; seq: number; hash: Uint8Array; stamp: Uint8Array }>(
    trx,
    "select shard, seq, hash, stamp from audit_start",
    [],
  )
  for (const row of rows) {
    const head = fromHeadRow(row)
    // A start without a valid stamp is not restamped, so verification reports it.
    if (seals.stampedBy(startText(head), bytes(row.stamp))?.until !== null) continue
    await run(trx, restampText, [head.shard, head.seq.toString(), Buffer.from(seals.stamp(startText(head)))])
  }
}
