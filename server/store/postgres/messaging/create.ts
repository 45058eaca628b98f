import { equalBytes } from "@signet/kernel/messaging/bytes"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { Conversations } from "@signet/kernel/messaging/ports"
import type { Conversation } from "@signet/kernel/messaging/records"
import { type Database, run } from "../sql.ts"
import { type Access, type AuditAppender, appendAudit } from "./access.ts"
import {
  type ConversationRow,
  conversationColumns,
  conversationOf,
  insertColumns,
  insertValues,
  rosterColumn,
  type WithRoster,
} from "./conversation-rows.ts"
import { lockPlaceGate } from "./moving/gates.ts"

const ownColumns = ["creator_device_id", "creator_key", "request_hash", "direct_key"] as const
const insertText = `insert into conversation (${[...insertColumns, ...ownColumns].join(", ")})
values (${[...insertColumns, ...ownColumns].map((_, i) => `$${i + 1}`).join(", ")})
on conflict do nothing returning id`
const askedText = `insert into conversation_asked (conversation_id, user_id)
select $1::text, user_id from unnest($2::text[]) as user_id`
const findDirectText = `select ${conversationColumns()}, ${rosterColumn}, request_hash from conversation
where direct_key = $1 and status <> 'CLOSED'`
const findKeyText = `select ${conversationColumns()}, ${rosterColumn}, request_hash from conversation
where creator_device_id = $1 and creator_key = $2 and kind = 'GROUP'`
// Counts up to the limit.
const countText = `select count(*) as count from (
  select conversation_id from conversation_leaf where user_id = $1 and to_seq is null
  union select conversation_id from conversation_asked where user_id = $1
  limit ${maxCount.conversationsPerUser}
) of_user`

type Create = Conversations["create"]

export const createConversation =
  ({ transact }: Access): Create =>
  async (conversation, by, audit) => {
    // A conflicting conversation may be closed before it is read, so try again.
    for (let attempt = 0; ; attempt++) {
      const outcome = await transact((trx, log) => attemptToCreate(trx, log, conversation, by, audit))
      if (outcome !== undefined) return outcome
      if (attempt === 10) throw new Error("a conversation neither exists nor can be inserted")
    }
  }

async function attemptToCreate(
  trx: Database,
  log: AuditAppender,
  conversation: Conversation,
  by: Parameters<Create>[1],
  audit: Parameters<Create>[2],
): Promise<Awaited<ReturnType<Create>> | undefined> {
  const there = await find(trx, conversation, by)
  if (there !== undefined) return there
  await lockPlaceGate(trx, conversation, conversation.id)
  const [counted] = await run<{ count: number }>(trx, countText, [conversation.creatorUserId])
  if ((counted?.count ?? 0) >= maxCount.conversationsPerUser) return { is: "full" }
  const own = [by.deviceId, by.idempotencyKey, by.requestHash, directKeyOf(conversation)]
  const inserted = await run(trx, insertText, [...insertValues(conversation), ...own])
  if (inserted.length === 0) return find(trx, conversation, by)
  await run(trx, askedText, [conversation.id, [...new Set(conversation.userIds)]])
  await appendAudit(log, [audit])
  return { is: "created", conversation }
}

async function find(
  trx: Database,
  conversation: Conversation,
  { deviceId, idempotencyKey, requestHash }: Parameters<Create>[1],
): Promise<Awaited<ReturnType<Create>> | undefined> {
  const directKey = directKeyOf(conversation)
  const [row] = await run<ConversationRow & WithRoster & { request_hash: Uint8Array }>(
    trx,
    directKey === null ? findKeyText : findDirectText,
    directKey === null ? [deviceId, idempotencyKey] : [directKey],
  )
  if (row === undefined) return undefined
  // The pair is the key of a direct conversation: every request of either user returns the same one.
  if (directKey === null && !equalBytes(row.request_hash, requestHash)) return { is: "mismatch" }
  return { is: "there", conversation: conversationOf(row) }
}

export function directKeyOf({ kind, appId, tenantId, userIds }: Conversation): string | null {
  return kind === "DIRECT" ? [appId, tenantId ?? "", ...userIds.toSorted()].join(" ") : null
}
