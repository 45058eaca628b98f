// The members of conversations: their leaves, cursors and last calls.
import type { ConversationId, DeviceId, PrincipalId } from "@signet/kernel/ids"
import type { Conversations } from "@signet/kernel/messaging/ports"
import { at } from "../sql.ts"
import type { Access } from "./access.ts"
import { joinGate, refuseIfClosed } from "./moving/gates.ts"

const spanText = `select from_seq, to_seq from conversation_leaf
where conversation_id = $1 and device_id = $2
order by to_seq is null or to_seq > $3::bigint desc,
  case when to_seq is null or to_seq > $3::bigint then from_seq else -from_seq end
limit 1`
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

type Members = Pick<Conversations, "membershipSpan" | "ack" | "touch" | "online" | "withDevice">

export function members({ ask }: Access): Members {
  return {
    async membershipSpan(id, deviceId, afterSeq) {
      const [row] = await ask<{ from_seq: number; to_seq: number | null }>(spanText, [id, deviceId, afterSeq])
      return row && { fromSeq: BigInt(row.from_seq), toSeq: row.to_seq === null ? null : BigInt(row.to_seq) }
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
