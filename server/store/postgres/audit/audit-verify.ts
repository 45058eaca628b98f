// Verifies the whole audit in one snapshot, page by page.
import type { Head } from "@signet/kernel/audit/chain"
import type { CheckpointClaims } from "@signet/kernel/audit/checkpoint"
import type { AuditCrypto } from "@signet/kernel/audit/crypto"
import { type Flaw, flaw } from "@signet/kernel/audit/flaw"
import { type AuditRow, hex } from "@signet/kernel/audit/row"
import { type Linked, verifyChains, verifyWaiting } from "@signet/kernel/audit/verify-chains"
import { type CheckedCheckpoint, verifyCheckpoints } from "@signet/kernel/audit/verify-checkpoints"
import type { Selectable } from "kysely"
import { bytes, type Database, run } from "../sql.ts"
import { fromCheckpointRow, fromHeadRow, fromLinkedRow, type LinkedRow, linkedColumns } from "./audit-link-row.ts"
import { fromAuditRow } from "./audit-row.ts"
import type { AuditEventTable, AuditTables } from "./audit-schema.ts"

const page = 2_000

const linksText = `select ${linkedColumns} from audit_link left join audit_event on audit_event.id = audit_link.event_id
where (audit_link.shard, audit_link.seq) > ($1, $2) order by audit_link.shard, audit_link.seq limit ${page}`

const unlinkedText = `select audit_event.* from audit_event
where id > $1 and not exists (select from audit_link where audit_link.event_id = audit_event.id)
order by id limit ${page}`

const goneText = `select event_id from audit_pending
where not exists (select from audit_event where audit_event.id = audit_pending.event_id) order by event_id limit 100`

const checkpointsText = "select * from audit_checkpoint where number > $1 order by number limit 50"

const headsText = `select head.number, head.shard, head.seq, head.hash, audit_link.hash as link_hash
from audit_checkpoint_head as head
left join audit_link on audit_link.shard = head.shard and audit_link.seq = head.seq
where head.number = any($1::bigint[]) order by head.number, head.shard`

export interface VerifiedAudit {
  readonly flaws: readonly Flaw[]
  readonly chains: number
  readonly links: number
  readonly checkpoints: number
  /** Pending events. */
  readonly waiting: number
  readonly unstamped: number
}

interface Options {
  readonly seals: AuditCrypto
  readonly nowMs: number
  /** How long an event may be pending, in milliseconds. */
  readonly patienceMs: number
  readonly open: (jws: string) => CheckpointClaims | undefined
  /** External copies of checkpoints, by number. */
  readonly kept: ReadonlyMap<bigint, string>
}

/** Verifies chains, pending events and checkpoints. Flaws of chains come first. */
export const verifyAudit = (db: Database, options: Options): Promise<VerifiedAudit> =>
  db
    .transaction()
    .setIsolationLevel("repeatable read")
    .setAccessMode("read only")
    .execute((trx) => verifyAuditIn(trx, options))

/** As `verifyAudit`, in the given transaction, which must read one snapshot. */
export async function verifyAuditIn(trx: Database, options: Options): Promise<VerifiedAudit> {
  const { seals, nowMs, patienceMs, open, kept } = options
  const { starts, flaws: forgedStarts } = await startsOf(trx, seals)
  const unstampedUntil = await firstHeads(trx)
  const stampKeys = seals.stampKeys()
  const ends = stampKeys.flatMap(({ until }) => until ?? [])
  const stampEnds = new Map<bigint, ReadonlyMap<string, bigint>>()
  for (const { checkpoint } of ends) stampEnds.set(checkpoint, await headsAt(trx, checkpoint))
  const chains = await verifyChains(seals, linksOf(trx), { unstampedUntil, starts, stampEnds })
  // A key's last checkpoint is pinned by its hash, and with it all earlier ones, so the key's owner cannot replace any.
  const checkpoints = new Map([
    ...chains.checkpoints,
    ...ends.map(({ checkpoint, hash }) => [checkpoint, hash] as const),
  ])
  const checked = await verifyCheckpoints(seals, checkpointsOf(trx), {
    chains: { ends: chains.ends, checkpoints },
    ...{ starts, kept, open },
  })
  const restored = stampKeys.flatMap(({ keyId, until }) => {
    const eventId = chains.retired.get(keyId)
    return eventId === undefined || until !== null ? [] : [flaw("STAMP_KEY_RESTORED", { eventId })]
  })
  const waiting = await verifyWaiting(seals, unlinkedOf(trx), { nowMs, patienceMs, unstampedUntil })
  const gone = (await run<{ event_id: string }>(trx, goneText, [])).map(({ event_id }) =>
    flaw("EVENT_MISSING", { eventId: event_id }),
  )
  return {
    flaws: [...chains.flaws, ...forgedStarts, ...restored, ...checked.flaws, ...gone, ...waiting.flaws],
    chains: chains.ends.size,
    links: chains.links,
    checkpoints: checked.checkpoints,
    waiting: waiting.waiting,
    unstamped: chains.unstamped,
  }
}

async function* linksOf(db: Database): AsyncGenerator<Linked> {
  for (let from = ["", "0"]; ; ) {
    const rows = await run<LinkedRow>(db, linksText, from)
    yield* rows.map(fromLinkedRow)
    const last = rows.at(-1)
    if (last === undefined || rows.length < page) return
    from = [last.shard, String(last.seq)]
  }
}

async function* unlinkedOf(db: Database): AsyncGenerator<AuditRow> {
  for (let from = ""; ; ) {
    const rows = await run<Selectable<AuditEventTable>>(db, unlinkedText, [from])
    yield* rows.map(fromAuditRow)
    const last = rows.at(-1)
    if (last === undefined || rows.length < page) return
    from = last.id
  }
}

async function* checkpointsOf(db: Database): AsyncGenerator<CheckedCheckpoint> {
  type HeadRow = Selectable<AuditTables["audit_checkpoint_head"]> & { link_hash: Uint8Array | null }
  for (let from = 0; ; ) {
    const rows = await run<Selectable<AuditTables["audit_checkpoint"]>>(db, checkpointsText, [from])
    const heads = await run<HeadRow>(db, headsText, [rows.map(({ number }) => number)])
    for (const row of rows) {
      const own = heads.filter(({ number }) => number === row.number)
      yield {
        checkpoint: fromCheckpointRow(row),
        heads: own.map((head) => ({ head: fromHeadRow(head), linkHash: head.link_hash && bytes(head.link_hash) })),
      }
    }
    const last = rows.at(-1)
    if (last === undefined) return
    from = last.number
  }
}

const firstHeadsText = `select head.shard, head.seq, head.hash from audit_checkpoint_head as head
where head.number = (select min(number) from audit_checkpoint)`

/** The chains' heads at the first checkpoint; null when there is none. */
async function firstHeads(db: Database): Promise<ReadonlyMap<string, bigint> | null> {
  const rows = (await run<Parameters<typeof fromHeadRow>[0]>(db, firstHeadsText, [])).map(fromHeadRow)
  if (rows.length > 0) return new Map(rows.map(({ shard, seq }) => [shard, seq]))
  const isAny = (await run(db, "select 1 from audit_checkpoint limit 1", [])).length > 0
  return isAny ? new Map() : null
}

const headsAtText = `select distinct on (shard) shard, seq, hash from audit_checkpoint_head
where number <= $1 order by shard, number desc`

/** The chains' heads at a checkpoint. A chain that had not grown is named by an earlier one. */
async function headsAt(db: Database, checkpoint: bigint): Promise<ReadonlyMap<string, bigint>> {
  const rows = await run<Parameters<typeof fromHeadRow>[0]>(db, headsAtText, [checkpoint.toString()])
  return new Map(rows.map(fromHeadRow).map(({ shard, seq }) => [shard, seq]))
}

/** The stamped text of a chain's start. */
export const startText = ({ shard, seq, hash }: Head): string =>
  JSON.stringify(["signet audit start v1", shard, seq.toString(), hex(hash)])

/** The last start of each chain. A start without a valid stamp is a flaw. */
async function startsOf(
  db: Database,
  seals: AuditCrypto,
): Promise<{ starts: ReadonlyMap<string, Head>; flaws: readonly Flaw[] }> {
  const rows = await run<Selectable<AuditTables["audit_start"]>>(
    db,
    "select * from audit_start order by shard, seq",
    [],
  )
  const starts = new Map<string, Head>()
  const flaws: Flaw[] = []
  for (const row of rows) {
    const head = fromHeadRow(row)
    // A retired key's stamp is invalid: `restampStarts` has stamped older starts with the current key.
    if (seals.stampedBy(startText(head), bytes(row.stamp))?.until === null) starts.set(head.shard, head)
    else flaws.push(flaw("LINK_CHANGED", { shard: head.shard, seq: head.seq }))
  }
  return { starts, flaws }
}
