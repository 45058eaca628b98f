// Checks which attachments a call may use. Any other is answered as a missing one.
import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import { isGone, partBytes } from "@signet/kernel/messaging/attachment"
import type { AttachmentRecord } from "@signet/kernel/messaging/records"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import { isAt, seen, unresolved } from "../conversation/seen.ts"
import type { MessagingDeps } from "../deps.ts"

/** An attachment of a conversation that the caller's user is in. @throws Refused RESOURCE_UNRESOLVED */
export async function readableAttachment(
  deps: Pick<MessagingDeps, "store" | "clock">,
  context: HandlerContext,
  attachmentId: string,
): Promise<AttachmentRecord> {
  const record = await found(deps, attachmentId)
  if (record === undefined || isGone(record, deps.clock.nowMs())) throw unresolved()
  await seen(deps, context, record.conversationId)
  return record
}

/** As `readableAttachment`, but of the caller's own user: for writes. @throws Refused RESOURCE_UNRESOLVED */
export async function ownAttachment(
  deps: Pick<MessagingDeps, "store" | "clock">,
  context: HandlerContext,
  attachmentId: string,
): Promise<AttachmentRecord> {
  const record = await readableAttachment(deps, context, attachmentId)
  if (record.ownerUserId !== deviceOf(context).userId) throw unresolved()
  return record
}

/** An attachment of the caller's own user, also when it is deleted or its owner has left the conversation. */
export async function formerAttachment(
  deps: Pick<MessagingDeps, "store">,
  context: HandlerContext,
  attachmentId: string,
): Promise<AttachmentRecord> {
  const device = deviceOf(context)
  const record = await found(deps, attachmentId)
  if (record === undefined || record.ownerUserId !== device.userId) throw unresolved()
  const conversation = await deps.store.conversations.find(record.conversationId)
  if (conversation === undefined || !isAt(conversation, device)) throw unresolved()
  return record
}

async function found({ store }: Pick<MessagingDeps, "store">, text: string): Promise<AttachmentRecord | undefined> {
  const id = parseId("att", text)
  return id === undefined ? undefined : store.attachments.find(id)
}

/** The part's size in bytes. @throws Refused INVALID_FIELD when there is no such part. */
export function sizeOfPart(record: AttachmentRecord, index: number): number {
  const size = partBytes(record, index)
  if (size !== undefined) return size
  throw new Refused("INVALID_FIELD", { message: "index is not a part of the attachment", metadata: { field: "index" } })
}
