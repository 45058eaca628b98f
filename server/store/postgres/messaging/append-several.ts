// Appends messages of several calls in one statement, which waits for no lock. It appends a message only if the kernel's
// decision on the conversation as the caller read it still holds: the epoch is the same, and nothing else restricts
// messages. Every other message is appended alone.
import { conversationAfter } from "@signet/kernel/messaging/after"
import type { AppendOutcome } from "@signet/kernel/messaging/ports"
import type { Conversation } from "@signet/kernel/messaging/records"
import type { VerifiedAppend } from "@signet/kernel/messaging/verified"
import { answersOf, byParameter } from "../limits/count-several.ts"
import { array, at } from "../sql.ts"
import type { Access } from "./access.ts"
import { pruneAt } from "./conversation-rows.ts"
import { joinGate } from "./moving/gates.ts"

/** An application message, and the conversation for which `decideAppend` accepted it. */
export interface SeenAppend {
  readonly append: VerifiedAppend
  readonly seen: Conversation
  readonly nowMs: number
}

/** Bytes. Larger messages are appended alone: a statement holds up to 64. */
const mostBytes = 16_384

/** False for an append that needs more than the equal epoch. */
export const isPlain = ({ append, seen }: SeenAppend): boolean =>
  append.commit === null &&
  append.resubmitted === undefined &&
  append.message.length <= mostBytes &&
  seen.status === "ACTIVE" &&
  seen.directives.length === 0

const types = {
  conversation_id: "text",
  epoch: "bigint",
  processed_seq: "bigint",
  message: "bytea",
  content_hash: "bytea",
  sender_device_id: "text",
  idempotency_key: "bytea",
  now_at: "timestamptz",
}
const wanted = Object.values(types).map((type, i) => array(i + 1, type))

// Members change with the epoch only. A message takes the time of an earlier one, if that is later.
const appendAllText = `with wanted as materialized (
  select * from unnest(${wanted.join(", ")}) with ordinality as each (${Object.keys(types).join(", ")}, place)
), locked as materialized (
  select conversation.id, epoch, status, directives, head_seq, head_at from conversation ${joinGate}
  where conversation.id = any(${array(1, "text")})
  order by conversation.id for update of conversation skip locked for share of gate skip locked
), placed as materialized (
  select wanted.*, locked.head_seq + row_number() over arrival as seq,
    greatest(locked.head_at, max(now_at) over arrival) as accepted_at
  from wanted join locked on locked.id = wanted.conversation_id and locked.epoch = wanted.epoch
  where locked.status = 'ACTIVE' and locked.directives = '[]'::jsonb and wanted.processed_seq <= locked.head_seq
  window arrival as (partition by wanted.conversation_id order by wanted.place)
), headed as (
  update conversation set head_seq = last.seq, head_at = last.accepted_at,
    prune_at = ${pruneAt("last.first_at")}
  from (
    select conversation_id, max(seq) as seq, max(accepted_at) as accepted_at, min(accepted_at) as first_at
    from placed group by conversation_id
  ) as last
  where conversation.id = last.conversation_id
), written as (
  insert into conversation_log
    (conversation_id, seq, epoch, kind, message, content_hash, sender_device_id, idempotency_key, accepted_at)
  select conversation_id, seq, epoch, 'APPLICATION', message, content_hash, sender_device_id, idempotency_key, accepted_at
  from placed
)
select wanted.place as call, locked.id is null as is_busy, placed.seq, placed.accepted_at
from wanted
left join locked on locked.id = wanted.conversation_id
left join placed on placed.place = wanted.place
where locked.id is null or placed.place is not null`

interface Row {
  readonly call: number
  readonly is_busy: boolean
  readonly seq: number
  readonly accepted_at: Date
}

export async function appendAll(
  { ask }: Pick<Access, "ask">,
  calls: readonly SeenAppend[],
): Promise<readonly (AppendOutcome | "busy" | "alone")[]> {
  const values = calls.map(({ append, nowMs }) => [
    append.conversationId,
    append.epoch,
    append.processedSeq ?? 0n,
    Buffer.from(append.message),
    Buffer.from(append.contentHash),
    append.deviceId,
    Buffer.from(append.idempotencyKey),
    at(nowMs),
  ])
  return answersOf(calls, await ask<Row>(appendAllText, byParameter(values)), (row, { append, seen }) => {
    const [seq, acceptedAtMs] = [BigInt(row.seq), row.accepted_at.getTime()]
    const decision = { is: "append", seq, nextEpoch: append.epoch, acceptedAtMs } as const
    const { conversation, directives } = conversationAfter(seen, append, decision, new Uint8Array())
    return {
      is: "appended",
      answer: { seq, epoch: append.epoch, acceptedAtMs, receipt: null },
      conversation,
      directives,
    }
  })
}
