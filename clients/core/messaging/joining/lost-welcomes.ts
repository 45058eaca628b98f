import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { type Conversation, Conversation_Status, DirectiveKind } from "@signet/proto/messaging/v1/records"
import type { Context } from "../context.ts"
import { answeredId } from "../ids.ts"
import { trying } from "../sync/background.ts"
import { listWelcomes } from "./welcomes.ts"

/**
 * Asks to be let in again wherever this device is a member by the service's word, and has nothing to follow by: it was let
 * in while it was away, and the welcome has ended since. An unknown conversation still gets no handle.
 */
export async function askForLostWelcomes(context: Context, shown: Iterable<Conversation>): Promise<void> {
  const without: string[] = []
  for (const conversation of shown) if (await isWithout(context, conversation)) without.push(conversation.id)
  if (without.length === 0) return
  // Read after the members: who is one has its welcome from the same moment on.
  const welcomed = new Set((await listWelcomes(context)).map(({ conversationId }) => conversationId))
  for (const conversationId of without) {
    if (welcomed.has(conversationId)) continue
    await trying(context, conversationId, async () => {
      await context.calls.conversations.requestRejoin({ conversationId: answeredId("cnv", conversationId) })
    })
  }
}

async function isWithout(context: Context, { id, epoch, status, directives }: Conversation): Promise<boolean> {
  const { device, owner } = context
  if (epoch === 0n || status !== Conversation_Status.ACTIVE) return false
  // It has asked, or is to go.
  const isMoving = directives.some(
    ({ userId, deviceId, kind }) =>
      userId === owner.userId && (deviceId === device.id || (deviceId === "" && kind !== DirectiveKind.REJOIN)),
  )
  if (isMoving) return false
  if (!(await context.has(id))) return true
  const conversation = context.conversation(id)
  const record = await conversation.record()
  // Somebody else began it. A commit of its own that is staged may be the one that did, and is sent again.
  if (record?.status === Status.CREATING) return (await conversation.stored()).staged === undefined
  return record?.status === Status.WAITING || record?.status === Status.STRANDED || record?.status === Status.REMOVED
}
