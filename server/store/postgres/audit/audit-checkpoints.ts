// Signed checkpoints of the heads of all chains: one per period, made by any process.

import { buildCheckpoint, type Checkpoint, type CheckpointClaims, inOrder } from "@signet/kernel/audit/checkpoint"
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { Selectable } from "kysely"
import { retried } from "../retry.ts"
import { at, type Database, run } from "../sql.ts"
import { auditLog } from "./audit.ts"
import { lockChains } from "./audit-chain.ts"
import { fromCheckpointRow, fromHeadRow } from "./audit-link-row.ts"
import type { AuditLogDeps } from "./audit-log-deps.ts"
import type { AuditTables } from "./audit-schema.ts"

const lastText = "select * from audit_checkpoint order by number desc limit 1"

// Finds shards by index skips instead of reading all links. A shard that has not grown is covered by an earlier root.
const grownText = `with recursive shards (shard) as (
  select min(shard) from audit_link
  union all
  select (select min(audit_link.shard) from audit_link where audit_link.shard > shards.shard)
  from shards where shards.shard is not null)
select head.shard, head.seq, head.hash from shards
cross join lateral (select shard, seq, hash from audit_link
  where audit_link.shard = shards.shard order by seq desc limit 1) as head
left join lateral (select seq from audit_checkpoint_head
  where audit_checkpoint_head.shard = shards.shard order by number desc limit 1) as told on true
where told.seq is null or told.seq < head.seq`

const insertText = "insert into audit_checkpoint (number, created_at, jws, stamp) values ($1, $2, $3, $4)"

const headsText = `insert into audit_checkpoint_head (number, shard, seq, hash)
select $1, * from unnest($2::text[], $3::bigint[], $4::bytea[])`

interface Options {
  readonly writing: AuditLogDeps
  readonly iss: string
  readonly nowMs: number
  /** The period after the last checkpoint, in milliseconds. */
  readonly everyMs: number
  readonly sign: (claims: CheckpointClaims) => string
  /** The audit event of the checkpoint. */
  readonly event: (checkpoint: Pick<Checkpoint, "number" | "jws">) => AuditEvent
}

/** Makes a checkpoint if one is due. @returns Undefined when none is due. */
export async function makeCheckpoint(db: Database, options: Options): Promise<Checkpoint | undefined> {
  const { writing, iss, nowMs, everyMs, sign, event } = options
  const { seals } = writing
  const isDue = async (on: Database, last: Checkpoint | undefined) =>
    last === undefined ? isFirstDue(on, nowMs - everyMs) : isDueAfter(last.createdAtMs, nowMs, everyMs)
  if (!(await isDue(db, await lastOf(db)))) return undefined
  return retried(() =>
    db
      .transaction()
      .setIsolationLevel("read committed")
      .execute(async (trx) => {
        await lockChains(trx)
        const last = await lastOf(trx)
        if (!(await isDue(trx, last))) return undefined
        const rows = await run<{ shard: string; seq: number; hash: Uint8Array }>(trx, grownText, [])
        const heads = inOrder(rows.map(fromHeadRow))
        const claims = buildCheckpoint(seals, { iss, nowMs, last, heads })
        const jws = sign(claims)
        const checkpoint = { number: BigInt(claims.number), createdAtMs: nowMs, jws, stamp: seals.stamp(jws) }
        await run(trx, insertText, [claims.number, at(nowMs), jws, Buffer.from(checkpoint.stamp)])
        await run(trx, headsText, [
          claims.number,
          heads.map(({ shard }) => shard),
          heads.map(({ seq }) => seq.toString()),
          heads.map(({ hash }) => Buffer.from(hash)),
        ])
        const log = auditLog(trx, writing)
        await log.append(event(checkpoint))
        await log.flush()
        return checkpoint
      }),
  ).then((made) => {
    if (made !== undefined) writing.onCommitted()
    return made
  })
}

const dayMs = 86_400_000

/** A time more than a day ahead is an error, not clock skew: it must not delay all later checkpoints. */
const isDueAfter = (lastMs: number, nowMs: number, everyMs: number): boolean =>
  nowMs - lastMs >= everyMs || lastMs - nowMs > dayMs

const oldText = "select 1 from audit_link where linked_at <= $1 limit 1"

// An older program that ran at the same time left events that are not marked as pending.
const adoptText = `insert into audit_pending (event_id) select id from audit_event
where stamp is null and not exists (select from audit_link where audit_link.event_id = audit_event.id)
on conflict (event_id) do nothing`

const unstampedText = `select 1 from audit_pending
join audit_event on audit_event.id = audit_pending.event_id where stamp is null limit 1`

/**
 * True when the first checkpoint may be made. Every later link needs a stamp, so all events without one must be linked
 * before.
 */
async function isFirstDue(db: Database, linkedUntilMs: number): Promise<boolean> {
  if ((await run(db, oldText, [at(linkedUntilMs)])).length === 0) return false
  await run(db, adoptText, [])
  return (await run(db, unstampedText, [])).length === 0
}

async function lastOf(db: Database): Promise<Checkpoint | undefined> {
  const [row] = await run<Selectable<AuditTables["audit_checkpoint"]>>(db, lastText, [])
  return row && fromCheckpointRow(row)
}
