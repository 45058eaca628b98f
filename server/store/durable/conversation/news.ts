import type { Conversation } from "@signet/kernel/messaging/records"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import type { ConversationAsk } from "../stream-asks.ts"

/** What a stream does not know that was told of the log up to a place, and of the directives of before an instant. */
export function conversationNews({ id, headSeq, directives }: Conversation, ask: ConversationAsk): readonly Hint[] {
  const issued = directives.filter(({ issuedAtMs }) => issuedAtMs > ask.sinceMs)
  const ahead: readonly Hint[] = headSeq > ask.seq ? [{ is: "envelopes", conversationId: id, headSeq }] : []
  return [...ahead, ...issued.map((one): Hint => ({ is: "directive", conversationId: id, directiveId: one.id }))]
}
