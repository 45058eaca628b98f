// The reads of a stream: its conversations and their state, without rosters, so that large groups cost no more.
import type { ConversationId, PrincipalId } from "@signet/kernel/ids"
import type { Conversations } from "@signet/kernel/messaging/ports"
import { type Access, placeOf } from "./access.ts"
import { ofDevice } from "./conversation-rows.ts"

const audiencesText = `select conversation.id, head_seq, array(select distinct leaf.user_id from conversation_leaf leaf
  where leaf.conversation_id = conversation.id and leaf.to_seq is null order by 1) as user_ids
from conversation
where ${ofDevice} and ($5::text is null or conversation.id > $5::text) and ($6::text is null or conversation.id = $6::text)
order by conversation.id limit $7`
const standingsText = `select conversation.id, head_seq, coalesce(cursor.processed_seq, 0) as processed_seq,
  directives <> '[]' as has_directives
from conversation left join device_cursor cursor on cursor.conversation_id = conversation.id and cursor.device_id = $1
where conversation.id = any($2::text[]) order by created_at desc, conversation.id desc`

interface AudienceRow {
  id: ConversationId
  head_seq: number
  user_ids: PrincipalId[]
}

interface StandingRow {
  id: ConversationId
  head_seq: number
  processed_seq: number
  has_directives: boolean
}

export function listening({ ask }: Access): Pick<Conversations, "memberUsers" | "logProgress"> {
  return {
    async memberUsers({ deviceId, userId, place }, { size, after, only }) {
      const values = [deviceId, userId, ...placeOf(place), after, only, size]
      const rows = await ask<AudienceRow>(audiencesText, values)
      return rows.map((row) => ({ conversationId: row.id, headSeq: BigInt(row.head_seq), userIds: row.user_ids }))
    },

    async logProgress(deviceId, ids) {
      return (await ask<StandingRow>(standingsText, [deviceId, ids])).map((row) => ({
        conversationId: row.id,
        headSeq: BigInt(row.head_seq),
        processedSeq: BigInt(row.processed_seq),
        hasDirectives: row.has_directives,
      }))
    },
  }
}
