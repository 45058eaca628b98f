import type { Conversation } from "@signet/kernel/messaging/records"
import { leafOf } from "@signet/kernel/messaging/roster"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import { userName } from "../names.ts"
import type { ConversationAsk } from "../stream-asks.ts"

/** What a stream does not know that was told of the log up to a place, and of the directives of before an instant. */
export function conversationNews({ id, headSeq, directives }: Conversation, ask: ConversationAsk): readonly Hint[] {
  const issued = directives.filter(({ issuedAtMs }) => issuedAtMs > ask.sinceMs)
  const ahead: readonly Hint[] = headSeq > ask.seq ? [{ is: "envelopes", conversationId: id, headSeq }] : []
  return [...ahead, ...issued.map((one): Hint => ({ is: "directive", conversationId: id, directiveId: one.id }))]
}

/**
 * Who has a leaf listens; before the first commit, a device of a user who was made a part of it.
 *
 * @returns what anybody else hears; undefined for who may listen.
 */
export function refusalFor(
  conversation: Conversation,
  { deviceId, user }: ConversationAsk,
): readonly Hint[] | undefined {
  const { id, roster, epoch, userIds } = conversation
  const leaf = leafOf(roster, deviceId)
  const users = leaf === undefined ? (epoch === 0n ? userIds : []) : [leaf.userId]
  if (users.some((userId) => userName(userId, conversation) === user)) return undefined
  // Its stream looks again whether it is in.
  return [{ is: "member", deviceId, conversationId: id }]
}
