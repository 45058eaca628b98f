import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { type ConversationId, parseId } from "@signet/kernel/ids"
import { sees } from "@signet/kernel/messaging/membership"
import type { Conversation, Place } from "@signet/kernel/messaging/records"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import type { MessagingDeps } from "../deps.ts"

/** One refusal for a conversation that is missing, of another place, or not the caller's. */
export const unresolved = (): Refused => new Refused("RESOURCE_UNRESOLVED")

export const isAt = (of: Place, place: Place): boolean => of.appId === place.appId && of.tenantId === place.tenantId

/** @throws Refused RESOURCE_UNRESOLVED */
export function conversationIdOf(text: string): ConversationId {
  const id = parseId("cnv", text)
  if (id === undefined) throw unresolved()
  return id
}

/**
 * The conversation, if the caller's user is a member or may make its first commit.
 *
 * @throws Refused RESOURCE_UNRESOLVED
 */
export async function seen(
  deps: Pick<MessagingDeps, "store">,
  context: HandlerContext,
  conversationId: string,
): Promise<Conversation> {
  const device = deviceOf(context)
  const conversation = await deps.store.conversations.find(conversationIdOf(conversationId))
  if (conversation === undefined || !isAt(conversation, device)) throw unresolved()
  if (!sees(conversation, device.userId)) throw unresolved()
  return conversation
}
