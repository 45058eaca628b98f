// The members of conversations: their leaves, cursors and last calls.
import type { ConversationId, DeviceId, PrincipalId } from "@signet/kernel/ids"
import type { FindSpans, MembershipSpan } from "@signet/kernel/messaging/listening"
import type { Conversations } from "@signet/kernel/messaging/ports"
import { at, type Database } from "../sql.ts"
import { type Access, createAccess } from "./access.ts"
import { joinGate, refuseIfClosed } from "./moving/gates.ts"

const spanOf = (deviceId: string, afterSeq: string) => `select from_seq, to_seq from conversation_leaf
where conversation_id = $1 and device_id = ${deviceId}
order by to_seq is null or to_seq > ${afterSeq} desc,
  case when to_seq is null or to_seq > ${afterSeq} then from_seq else -from_seq end
limit 1`
const spanText = spanOf("$2", "$3::bigint")
const spansText = `select asked.n, span.from_seq, span.to_seq
from unnest($2::text[], $3::bigint[]) with ordinality as asked (device_id, after_seq, n)
cross join lateral (${spanOf("asked.device_id", "asked.after_seq")}) as span`
const entered = `with entered as (
  select conversation.id, head_seq, epoch from conversation ${joinGate} where conversation.id = $1 for share of gate
)`
const ackText = `${entered}
insert into device_cursor as kept (conversation_id, device_id, processed_seq, processed_epoch)
select id, $2::text, $3::bigint, $4::bigint from entered where head_seq >= $3::bigint and epoch >= $4::bigint
on conflict (conversation_id, device_id) do update set
  processed_seq = greatest(kept.processed_seq, excluded.processed_seq),
  processed_epoch = greatest(kept.processed_epoch, excluded.processed_epoch)
returning processed_seq, processed_epoch`
// At most one write in 10 seconds, so that a busy member does not write with each of its calls.
const seenText = `${entered}
insert into device_cursor as kept (conversation_id, device_id, processed_seq, processed_epoch, seen_at)
select conversation_id, device_id, 0, 0, $3::timestamptz from conversation_leaf join entered on id = conversation_id
where conversation_id = $1 and device_id = $2 and to_seq is null
on conflict (conversation_id, device_id) do update set seen_at = excluded.seen_at
where kept.seen_at is null or kept.seen_at < $3::timestamptz - interval '10 seconds'`
const onlineText = `select leaf.device_id, leaf.user_id from conversation_leaf leaf
join device_cursor cursor on cursor.conversation_id = leaf.conversation_id and cursor.device_id = leaf.device_id
where leaf.conversation_id = $1 and leaf.to_seq is null and cursor.seen_at >= $2 order by leaf.leaf_index`
const withDeviceText = `select conversation.id from conversation_leaf leaf
join conversation on conversation.id = leaf.conversation_id
where leaf.device_id = $1 and leaf.to_seq is null and conversation.status <> 'CLOSED' order by conversation.id`

interface SpanRow {
  from_seq: number
  to_seq: number | null
}

const spanOfRow = (row: SpanRow): MembershipSpan => ({
  fromSeq: BigInt(row.from_seq),
  toSeq: row.to_seq === null ? null : BigInt(row.to_seq),
})

/** Finds the spans of any number of devices in one statement. */
export function createFindSpans(db: Database): FindSpans {
  const { ask } = createAccess(db, { audit: null })
  return async (id, of) => {
    const values = [id, of.map(({ deviceId }) => deviceId), of.map(({ afterSeq }) => afterSeq)]
    const rows = await ask<SpanRow & { n: number }>(spansText, values)
    const found = new Map(rows.map((row) => [Number(row.n) - 1, spanOfRow(row)]))
    return of.map((_, i) => found.get(i))
  }
}

type Members = Pick<Conversations, "membershipSpan" | "ack" | "touch" | "online" | "withDevice">

export function members({ ask }: Access): Members {
  return {
    async membershipSpan(id, deviceId, afterSeq) {
      const [row] = await ask<SpanRow>(spanText, [id, deviceId, afterSeq])
      return row && spanOfRow(row)
    },

    async ack(id, deviceId, { processedSeq, processedEpoch }) {
      const values = [id, deviceId, processedSeq, processedEpoch]
      const [row] = await ask<{ processed_seq: number; processed_epoch: number }>(ackText, values)
      if (row === undefined) {
        await refuseIfClosed(ask, "conversation", id)
        return "beyond"
      }
      return { processedSeq: BigInt(row.processed_seq), processedEpoch: BigInt(row.processed_epoch) }
    },

    // A read at a held place is not an error, although its time is not recorded.
    async touch(id, deviceId, nowMs) {
      await ask(seenText, [id, deviceId, at(nowMs)])
    },

    async online(id, sinceMs) {
      const rows = await ask<{ device_id: DeviceId; user_id: PrincipalId }>(onlineText, [id, at(sinceMs)])
      return rows.map((row) => ({ deviceId: row.device_id, userId: row.user_id }))
    },

    async withDevice(deviceId) {
      return (await ask<{ id: ConversationId }>(withDeviceText, [deviceId])).map(({ id }) => id)
    },
  }
}
