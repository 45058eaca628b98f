// The logs of conversations, and their pruning.
import type { DeviceId } from "@signet/kernel/ids"
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { Conversations } from "@signet/kernel/messaging/ports"
import type { Envelope } from "@signet/kernel/messaging/records"
import { at, bytes, bytesOrNull, type Database, run } from "../sql.ts"
import type { Access } from "./access.ts"
import { joinGate } from "./moving/gates.ts"

export interface EnvelopeRow {
  seq: number
  epoch: number
  kind: Envelope["kind"]
  message: Uint8Array
  content_hash: Uint8Array
  sender_device_id: DeviceId
  idempotency_key: Uint8Array
  accepted_at: Date
  receipt: Uint8Array | null
}

export const envelopeColumns = `log.seq, log.epoch, log.kind, log.message, log.content_hash, log.sender_device_id, log.idempotency_key,
  log.accepted_at, log.receipt`
const commitText = `select ${envelopeColumns} from conversation_log log
where conversation_id = $1 and epoch = $2 and kind = 'COMMIT'`
// Head and page are from one snapshot. The page is cut by the messages' lengths before they are read.
const pageText = `select conversation.head_seq, conversation.first_seq, ${envelopeColumns}
from conversation
left join (
  select conversation_id, seq, row_number() over page as place, sum(size) over page as total
  from (
    select conversation_id, seq, octet_length(message) + coalesce(octet_length(receipt), 0) as size
    from conversation_log where conversation_id = $1 and seq > $2 order by seq limit $3
  ) sized
  window page as (order by seq)
) listed on listed.place = 1 or listed.total <= $4
left join conversation_log log on log.conversation_id = listed.conversation_id and log.seq = listed.seq
where conversation.id = $1 order by log.seq`

export function log({ ask, transact }: Access): Pick<Conversations, "commitOf" | "messages" | "prune"> {
  return {
    async commitOf(id, epoch) {
      const [row] = await ask<EnvelopeRow>(commitText, [id, epoch])
      return row && envelopeOf(row)
    },

    async messages(id, afterSeq, { limit, maxBytes }) {
      type Row = { head_seq: number; first_seq: number } & (EnvelopeRow | { seq: null })
      const rows = await ask<Row>(pageText, [id, afterSeq, limit, maxBytes])
      const [head] = rows
      return {
        envelopes: rows.flatMap((row) => (row.seq === null ? [] : [envelopeOf(row)])),
        headSeq: BigInt(head?.head_seq ?? 0),
        firstSeq: BigInt(head?.first_seq ?? 1),
      }
    },

    async prune(nowMs, limit) {
      let pruned = 0
      while (pruned < limit) {
        const count = await transact((trx) => pruneNext(trx, nowMs, limit - pruned))
        if (count === undefined) break
        pruned += count
      }
      return pruned
    },
  }
}

export const envelopeOf = (row: EnvelopeRow): Envelope => ({
  seq: BigInt(row.seq),
  epoch: BigInt(row.epoch),
  kind: row.kind,
  message: bytes(row.message),
  contentHash: bytes(row.content_hash),
  senderDeviceId: row.sender_device_id,
  acceptedAtMs: row.accepted_at.getTime(),
  receipt: bytesOrNull(row.receipt),
  idempotencyKey: bytes(row.idempotency_key),
})

const dueText = `select id, first_seq from conversation ${joinGate} where prune_at <= $1
order by prune_at limit 1 for update of conversation skip locked for share of gate`
// A member that is behind keeps the log from its first unprocessed message, at the earliest from the commit that added
// it.
const lastText = `select least(
    (select max(seq) from conversation_log where conversation_id = $1 and kind = 'COMMIT') - 1,
    (select min(greatest(leaf.from_seq, coalesce(cursor.processed_seq, 0)))
      from conversation_leaf leaf left join device_cursor cursor
        on cursor.conversation_id = leaf.conversation_id and cursor.device_id = leaf.device_id
      where leaf.conversation_id = $1 and leaf.to_seq is null),
    (select min(seq) from conversation_log where conversation_id = $1 and accepted_at > $2) - 1,
    (select max(seq) from (
      select seq from conversation_log where conversation_id = $1 order by seq limit $3) batch)
  ) as last`
const deleteText = "delete from conversation_log where conversation_id = $1 and seq <= $2"
const prunedText = `update conversation set first_seq = $2,
  prune_at = (case when $3::boolean then $4::timestamptz else greatest($5::timestamptz, (
    select accepted_at + interval '${lifetimeMs.log} milliseconds'
    from conversation_log where conversation_id = $1 and seq = $2)) end)
where id = $1`

/**
 * Prunes one due conversation; undefined when none is due. A member that is behind keeps its unread messages: the
 * conversation is due again a day later.
 */
async function pruneNext(trx: Database, nowMs: number, limit: number): Promise<number | undefined> {
  const [due] = await run<{ id: string; first_seq: number }>(trx, dueText, [at(nowMs)])
  if (due === undefined) return undefined
  const [bound] = await run<{ last: number | null }>(trx, lastText, [due.id, at(nowMs - lifetimeMs.log), limit])
  const first = Math.max(due.first_seq, (bound?.last ?? 0) + 1)
  const count = first - due.first_seq
  if (count > 0) await run(trx, deleteText, [due.id, first - 1])
  const isMore = count === limit
  await run(trx, prunedText, [due.id, first, isMore, at(nowMs), at(nowMs + 86_400_000)])
  return count
}
