import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import type { Context } from "../context.ts"
import { isStagedCommit } from "../conversation/order.ts"
import { groupToRead } from "../conversation/status.ts"
import { MessagingError } from "../errors.ts"
import { EngineRefused } from "../mls.ts"
import { removeIntent } from "../sending/intent-rows.ts"
import { deviceKeysIn, noticeKeys } from "../verification/noticing.ts"
import { type CommitResult, resultOfCommit } from "./commit-result.ts"
import { type Draft, leave, type Source } from "./draft.ts"

/** Applies the commit at the next position. @throws CanonicalError, EngineRefused, Forked; MessagingError ENVELOPE_INVALID */
export async function applyCommit(context: Context, draft: Draft, envelope: Envelope, source: Source): Promise<void> {
  const local = groupToRead(draft.stored)
  const isOwn = envelope.senderDeviceId === context.device.id
  const isStaged = isStagedCommit(draft.stored, envelope)
  const isCreating = draft.stored.record?.status === Status.CREATING
  if (source === "caller" && (isOwn || isCreating) && !isStaged) {
    throw new MessagingError("ENVELOPE_INVALID", "not in the log")
  }
  // Of two first commits, the service accepted the other one.
  if (isCreating && !isStaged) return leave(draft, Status.WAITING)
  const followed = await resultOfCommit(
    context.conversation(draft.conversationId),
    draft.stored,
    local,
    envelope,
  ).catch((error: unknown) => {
    // The sender of the envelope is the service's word. It counts with a valid receipt, if the commit names our leaf.
    if (isOwn && error instanceof EngineRefused && error.reason === "MLS_BAD_SENDER") return undefined
    throw error
  })
  // This device made the commit and does not know it: the stored state is older than one that was used.
  if (followed === undefined) return leave(draft, Status.ROLLED_BACK)
  await record(context, draft, envelope, followed)
}

/** Adds what a commit made to the draft: state, entries, key changes, and the end of its intent. */
async function record(context: Context, draft: Draft, { seq }: Envelope, followed: CommitResult): Promise<void> {
  const before = draft.stored
  draft.stored = followed.stored
  draft.wipe.push(followed.wipe)
  const after = followed.stored.local
  if (after !== undefined) {
    const at = { seq, atMs: after.receipt === "first" ? 0 : Number(after.receipt.acceptedAtMs) }
    draft.entries.push(...(await draft.keys.see(before, after.group, at)))
  }
  draft.entries.push(...followed.entries)
  if (followed.done !== undefined) draft.due.push(removeIntent(followed.done))
  if (after === undefined) return
  const { ops, events } = await noticeKeys(context, deviceKeysIn(context, after.group))
  draft.ops.push(...ops)
  draft.warnings.push(...events)
}
