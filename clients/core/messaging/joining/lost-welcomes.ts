import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { type Conversation, Conversation_Status, DirectiveKind } from "@signet/proto/messaging/v1/records"
import type { Context } from "../context.ts"
import { answeredId } from "../ids.ts"
import { showMembers } from "../receiving/log.ts"
import { trying } from "../sync/background.ts"
import { findKeyPackage, replaceKeyPackages } from "./key-packages.ts"
import { listWelcomes } from "./welcomes.ts"

/**
 * Requests a rejoin where the service lists this device as a member and it has neither a group nor a welcome that it can
 * open. The welcome expired while the device was offline, or it is for a key package that was used before: a service that
 * was restored from a backup offers such packages again, so they are replaced first. Unknown conversations get no handle.
 */
export async function askForLostWelcomes(context: Context, shown: Iterable<Conversation>): Promise<void> {
  const without: string[] = []
  for (const conversation of shown) if (await isWithout(context, conversation)) without.push(conversation.id)
  if (without.length === 0) return
  // Read after the members, because a new member and its welcome appear at the same time.
  const welcomed = new Set<string>()
  const unopenable = new Set<string>()
  for (const welcome of await listWelcomes(context)) {
    const keyPackage = await findKeyPackage(context, welcome)
    const found = keyPackage === undefined ? unopenable : welcomed
    found.add(welcome.conversationId)
  }
  if (without.some((id) => unopenable.has(id) && !welcomed.has(id))) await replaceKeyPackages(context)
  for (const conversationId of without) {
    if (welcomed.has(conversationId)) continue
    await trying(context, conversationId, async () => {
      await context.calls.conversations.requestRejoin({ conversationId: answeredId("cnv", conversationId) })
    })
  }
}

/**
 * The same for the conversation of a welcome's hint: a store that was restored from a copy may lack the key package of the
 * welcome. The next sync may be minutes away.
 */
export async function askForLostWelcome(context: Context, conversationId: string): Promise<void> {
  if (!(await hasNoGroup(context, conversationId))) return
  const shown = await showMembers({ calls: context.calls, id: conversationId })
  const isMember = shown?.members.some(({ deviceId }) => deviceId === context.device.id)
  if (shown !== undefined && isMember) await askForLostWelcomes(context, [shown])
}

async function isWithout(context: Context, { id, epoch, status, directives }: Conversation): Promise<boolean> {
  const { device, owner } = context
  if (epoch === 0n || status !== Conversation_Status.ACTIVE) return false
  // A rejoin is requested already, or this device is to be removed.
  const isMoving = directives.some(
    ({ userId, deviceId, kind }) =>
      userId === owner.userId && (deviceId === device.id || (deviceId === "" && kind !== DirectiveKind.REJOIN)),
  )
  return !isMoving && hasNoGroup(context, id)
}

async function hasNoGroup(context: Context, id: string): Promise<boolean> {
  if (!(await context.has(id))) return true
  const conversation = context.conversation(id)
  const record = await conversation.record()
  // The app has used the id, for example with `outbox`, and nothing is stored.
  if (record === undefined) return true
  // Another device's first commit was accepted. An own staged commit may be that commit, so it is sent again.
  if (record?.status === Status.CREATING) return (await conversation.stored()).staged === undefined
  return record?.status === Status.WAITING || record?.status === Status.STRANDED || record?.status === Status.REMOVED
}
