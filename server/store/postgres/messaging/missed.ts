// Finds the hints that streams may have missed, by the ids of their subscriptions.
import type { ConversationId, DeviceId, DirectiveId, PrincipalId, WelcomeId } from "@signet/kernel/ids"
import type { Hint, MissedHints } from "@signet/kernel/messaging/wakeups"
import type { Database } from "../sql.ts"
import { createAccess } from "./access.ts"

const headsText = `select conversation.id, conversation.head_seq
from unnest($1::text[], $2::bigint[]) as known (id, seq) join conversation on conversation.id = known.id
where conversation.head_seq > known.seq`
const welcomesText = `select id, device_id, conversation_id from welcome
where device_id = any($1::text[]) and status = 'PENDING'`
const revokedText = "select id from messaging_device where id = any($1::text[]) and status = 'REVOKED'"
const membersText = `select device_id, count(*) as leaves from conversation_leaf
where device_id = any($1::text[]) and to_seq is null group by device_id`
const listsText = `select user_id, max(version) as version, count(*) as lists from device_list
where user_id = any($1::text[]) group by user_id`
const directivesText = `select conversation.id, directive ->> 'id' as directive_id
from conversation cross join jsonb_array_elements(directives) as directive
where conversation.id = any($1::text[]) and directives <> '[]'`

export function missedHints(db: Database): MissedHints {
  const { ask } = createAccess(db, { audit: null })
  type Found = Awaited<ReturnType<MissedHints["rest"]>>[number]
  const found = (hint: Hint, mark = ""): Found => ({ hint, mark })
  return {
    async heads(known) {
      const values = [[...known.keys()], [...known.values()]]
      const rows = await ask<{ id: ConversationId; head_seq: number }>(headsText, values)
      return rows.map((row) => ({ conversationId: row.id, headSeq: BigInt(row.head_seq) }))
    },

    async rest({ deviceIds, userIds, conversationIds }) {
      type WelcomeRow = { id: WelcomeId; device_id: DeviceId; conversation_id: ConversationId }
      const welcomes = await ask<WelcomeRow>(welcomesText, [deviceIds])
      const revoked = await ask<{ id: DeviceId }>(revokedText, [deviceIds])
      const members = await ask<{ device_id: DeviceId; leaves: number }>(membersText, [deviceIds])
      const lists = await ask<{ user_id: PrincipalId; version: number; lists: number }>(listsText, [userIds])
      type DirectiveRow = { id: ConversationId; directive_id: DirectiveId }
      const directives = await ask<DirectiveRow>(directivesText, [conversationIds])
      return [
        ...welcomes.map((row) =>
          found({ is: "welcome", deviceId: row.device_id, welcomeId: row.id, conversationId: row.conversation_id }),
        ),
        ...revoked.map((row) => found({ is: "revoked", deviceId: row.id })),
        ...members.map((row) => found({ is: "member", deviceId: row.device_id }, String(row.leaves))),
        ...lists.map((row) =>
          found({ is: "deviceList", userId: row.user_id, version: BigInt(row.version) }, String(row.lists)),
        ),
        ...directives.map((row) => found({ is: "directive", conversationId: row.id, directiveId: row.directive_id })),
      ]
    },
  }
}
