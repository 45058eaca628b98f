import { equalBytes } from "@signet/kernel/messaging/bytes"
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { AppendAnswer, Conversations, SeenConversation } from "@signet/kernel/messaging/ports"
import type { Cursor } from "@signet/kernel/messaging/records"
import { createRosters, type KnownRoster } from "@signet/kernel/messaging/rosters"
import { findTogether } from "../several.ts"
import { at, bytes, bytesOrNull } from "../sql.ts"
import { type Access, placeOf } from "./access.ts"
import { type AnswerRow, answerOf } from "./answers.ts"
import { appendMessage } from "./append.ts"
import {
  type ConversationRow,
  conversationColumns,
  conversationOf,
  notOfDevice,
  ofDevice,
  rosterUnless,
  type WithRoster,
} from "./conversation-rows.ts"
import { createConversation } from "./create.ts"
import { directing } from "./directing.ts"
import { listening } from "./listening.ts"
import { log } from "./log.ts"
import { members } from "./members.ts"

const cursorColumns = "cursor.processed_seq, cursor.processed_epoch"
const cursorJoin = (device: string) =>
  `left join device_cursor cursor on cursor.conversation_id = conversation.id and cursor.device_id = ${device}`
const findText = `select ${conversationColumns()}, ${rosterUnless("$2")} from conversation where id = $1`
const openText = `select ${conversationColumns()}, ${rosterUnless("$4")}, ${cursorColumns},
  log.seq as answered_seq, log.epoch as answered_epoch, log.kind as answered_kind, log.content_hash, log.accepted_at,
  log.receipt
from conversation ${cursorJoin("$2")}
left join conversation_log log
  on log.conversation_id = conversation.id and log.sender_device_id = $2 and log.idempotency_key = $3
where conversation.id = $1`
const listText = (which: string) => `select ${conversationColumns()}, null as roster, ${cursorColumns}
from conversation ${cursorJoin("$1")}
where ${which}
  and ($5::timestamptz is null or (created_at, conversation.id) < ($5::timestamptz, $6::text))
order by created_at desc, conversation.id desc limit $7`
const listedText = listText(ofDevice)
const unjoinedText = listText(notOfDevice)
const groupInfoText = `select info, group_info.epoch, case when group_info.epoch = conversation.epoch then tree_hash end as tree_hash
from group_info
join conversation on conversation.id = conversation_id where conversation_id = $1`
const treeText = `select size, substring(chunk from ($3::integer % ${maxBytes.treeChunk}) + 1) as chunk
from tree left join tree_chunk chunk
  on chunk.conversation_id = tree.conversation_id and chunk.hash = tree.hash
  and chunk.index = $3::integer / ${maxBytes.treeChunk}
where tree.conversation_id = $1 and tree.hash = $2`

type SeenRow = ConversationRow & WithRoster & { processed_seq: number | null; processed_epoch: number | null }

export function conversations(access: Access): Conversations {
  const { ask } = access
  const rosters = createRosters()
  const findWhole = findTogether<ConversationRow & WithRoster>(ask, findText, ["text", "bytea"])
  const findOpened = findTogether<SeenRow & AnsweredColumns>(ask, openText, ["text", "text", "bytea", "bytea"])
  const wholeOf = (row: ConversationRow & WithRoster, known: KnownRoster | undefined) => {
    const receiptHash = bytesOrNull(row.receipt_hash)
    const isKnown = receiptHash !== null && known !== undefined && equalBytes(known.receiptHash, receiptHash)
    const conversation = conversationOf(row, isKnown ? known.roster : undefined)
    if (!isKnown && receiptHash !== null) {
      rosters.put(row.id, { receiptHash, roster: conversation.roster })
    }
    return conversation
  }
  return {
    create: createConversation(access),

    async find(id) {
      const known = rosters.get(id)
      const row = await findWhole([id, known?.receiptHash ?? null])
      return row && wholeOf(row, known)
    },

    async findSeen(id, deviceId, idempotencyKey) {
      const known = rosters.get(id)
      const values = [id, deviceId, idempotencyKey ?? null, known?.receiptHash ?? null]
      const row = await findOpened(values)
      return row && { conversation: wholeOf(row, known), cursor: cursorOf(row), answered: answeredOf(row) }
    },

    async list({ deviceId, userId, place, isUnjoined }, { size, before }) {
      const from = before === null ? [null, null] : [at(before.createdAtMs), before.id]
      const text = isUnjoined === true ? unjoinedText : listedText
      return (await ask<SeenRow>(text, [deviceId, userId, ...placeOf(place), ...from, size])).map(seenOf)
    },

    append: appendMessage(access),

    async groupInfo(id) {
      const [row] = await ask<{ info: Uint8Array; epoch: number; tree_hash: Uint8Array | null }>(groupInfoText, [id])
      return row && { bytes: bytes(row.info), epoch: BigInt(row.epoch), treeHash: bytesOrNull(row.tree_hash) }
    },

    async tree(id, hash, offset) {
      const [row] = await ask<{ size: number; chunk: Uint8Array | null }>(treeText, [id, hash, offset])
      return row && { size: row.size, chunk: bytes(row.chunk ?? new Uint8Array()) }
    },

    ...listening(access),
    ...log(access),
    ...members(access),
    ...directing(access),
  }
}

const seenOf = (row: SeenRow): SeenConversation => ({ conversation: conversationOf(row), cursor: cursorOf(row) })

const cursorOf = (row: SeenRow): Cursor => ({
  processedSeq: BigInt(row.processed_seq ?? 0),
  processedEpoch: BigInt(row.processed_epoch ?? 0),
})

interface AnsweredColumns extends Pick<AnswerRow, "content_hash" | "accepted_at" | "receipt"> {
  answered_seq: AnswerRow["seq"] | null
  answered_epoch: AnswerRow["epoch"]
  answered_kind: AnswerRow["kind"]
}

function answeredOf(row: AnsweredColumns): { contentHash: Uint8Array; answer: AppendAnswer } | undefined {
  if (row.answered_seq === null) return undefined
  return answerOf({ ...row, seq: row.answered_seq, epoch: row.answered_epoch, kind: row.answered_kind })
}
