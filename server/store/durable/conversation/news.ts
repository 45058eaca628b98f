import type { Conversation } from "@signet/kernel/messaging/records"
import { leafOf } from "@signet/kernel/messaging/roster"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import { userName } from "../names.ts"
import type { ConversationAsk } from "../stream-asks.ts"

/** The hints that a stream lacks: the log after its sequence number, and directives issued since its time. */
export function conversationNews({ id, headSeq, directives }: Conversation, ask: ConversationAsk): readonly Hint[] {
  const issued = directives.filter(({ issuedAtMs }) => issuedAtMs > ask.sinceMs)
  const ahead: readonly Hint[] = headSeq > ask.seq ? [{ is: "envelopes", conversationId: id, headSeq }] : []
  return [...ahead, ...issued.map((one): Hint => ({ is: "directive", conversationId: id, directiveId: one.id }))]
}

/**
 * Checks whether a device may listen: it has a leaf, or before the first commit its user is part of the conversation.
 *
 * @returns The hints for a device that may not listen; undefined for one that may.
 */
export function refusalFor(
  conversation: Conversation,
  { deviceId, user }: ConversationAsk,
): readonly Hint[] | undefined {
  const { id, roster, epoch, userIds } = conversation
  const leaf = leafOf(roster, deviceId)
  const users = leaf === undefined ? (epoch === 0n ? userIds : []) : [leaf.userId]
  if (users.some((userId) => userName(userId, conversation) === user)) return undefined
  // On this hint the stream checks its membership again.
  return [{ is: "member", deviceId, conversationId: id }]
}
