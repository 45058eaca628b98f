// A user leaves with all devices. Each waiting message of this device is delivered before the leave or reported as unsent.
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { Conversation_Status as ServiceStatus } from "@signet/proto/messaging/v1/records"
import { isFailure } from "../../errors.ts"
import type { Conversation } from "../context.ts"
import type { Decision, DraftPart } from "../conversation/event.ts"
import { decideClose, decideLeave, decideStay, isLeaving } from "../conversation/leaving.ts"
import { changeOf, openDraft, perform } from "../receiving/draft.ts"
import { catchUp } from "../receiving/log.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"

/**
 * Stops sending if the user has left, with this device or another one, or if the log shows the removal.
 *
 * @returns True if this device sends nothing to the conversation any more.
 */
export async function followLeave(conversation: Conversation): Promise<boolean> {
  const { calls, id: conversationId, owner } = conversation
  const { conversation: shown } = await calls.conversations.getConversation({ conversationId }).catch(ifUnresolved)
  await catchUp(conversation)
  if (shown !== undefined && isLeaving(shown, owner.userId)) {
    await decideIn(conversation, (stored) => decideLeave(stored, shown.headSeq))
  }
  return (await conversation.stored()).record?.status !== Status.ACTIVE
}

/**
 * Settles a leave that the service's summary lacks: asks again if this device asked for it, and returns to the group
 * otherwise. The service may have been restored since, or it may have invented the leave.
 */
export async function confirmLeave(conversation: Conversation): Promise<void> {
  const { calls, id: conversationId, owner } = conversation
  const { conversation: shown } = await calls.conversations.getConversation({ conversationId }).catch(ifUnresolved)
  await catchUp(conversation)
  const { record } = await conversation.stored()
  if (record?.status !== Status.LEAVING || shown?.status !== ServiceStatus.ACTIVE) return
  if (isLeaving(shown, owner.userId)) return
  if (!record.askedToLeave) return decideIn(conversation, decideStay)
  const { directive } = await calls.conversations.leaveConversation({ conversationId })
  if (directive === undefined) await closeHere(conversation)
}

/** A user who was removed sees the conversation no more. */
function ifUnresolved(error: unknown): { conversation?: undefined } {
  if (!isFailure(error, "RESOURCE_UNRESOLVED")) throw error
  return {}
}

/** Ends a conversation that has no other user. */
export async function closeHere(conversation: Conversation): Promise<void> {
  await catchUp(conversation)
  await decideIn(conversation, decideClose)
}

/** Decides on the stored state, in one transaction. */
const decideIn = (
  conversation: Conversation,
  decide: (stored: StoredConversation) => Decision<DraftPart>,
): Promise<void> =>
  conversation.change(async (stored) => {
    const draft = openDraft(conversation, stored)
    const { state, effects } = decide(stored)
    draft.stored = state
    for (const effect of effects) await perform(conversation, draft, effect)
    return changeOf(conversation, draft, undefined)
  })
