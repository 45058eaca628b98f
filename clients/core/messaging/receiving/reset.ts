// A reset that another device committed: the log's next commit is framed in another group of the same conversation.
import { create } from "@bufbuild/protobuf"
import {
  type ConversationRecord,
  ConversationRecordSchema,
  ConversationRecord_Status as Status,
  VerificationRecord_Status as Verification,
} from "@signet/proto/client/v1/records"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import { verifyReset } from "../checks/reset.ts"
import type { VerificationContext } from "../checks/verification-context.ts"
import type { Storage, Trust } from "../deps.ts"
import type { TimelineEntry } from "../events.ts"
import { wipeState } from "../mls.ts"
import type { LocalGroup, StoredConversation } from "../state/stored-conversation.ts"
import { recordsOf } from "../verification/peer-rows.ts"

/**
 * Deletes the state of the replaced group, and waits for the welcome to the new one. The timeline gets a `reset` entry.
 *
 * @throws CanonicalError, EngineRefused, Forked; then nothing has changed.
 */
export async function resultOfReset(
  context: Storage & Pick<Trust, "owner">,
  verification: VerificationContext,
  local: LocalGroup,
  envelope: Envelope,
): Promise<{ stored: StoredConversation; entries: readonly TimelineEntry[]; done: undefined; wipe: () => void }> {
  const { mlsGroupId, receipt } = verifyReset(verification, local, envelope)
  const { record } = verification
  const { pendingConsume: _, ...kept } = record
  const waiting = create(ConversationRecordSchema, {
    ...kept,
    status: Status.WAITING,
    mlsGroupId,
    // The next welcome is for the commit of the reset, or a later one.
    joinedSeq: envelope.seq - 1n,
    resetSeq: envelope.seq,
    asksConfirmation: await asksConfirmation(context, record),
  })
  return {
    stored: { record: waiting, local: undefined, staged: undefined },
    entries: [{ seq: envelope.seq, atMs: Number(receipt.body.acceptedAtMs), is: "reset", by: undefined }],
    done: undefined,
    wipe: () => wipeState(local.group),
  }
}

/** True if a reset requires a new comparison of keys: those of a member were compared. */
export async function asksConfirmation(
  context: Storage & Pick<Trust, "owner">,
  { directUserIds, asksConfirmation: isAsked }: ConversationRecord,
): Promise<boolean> {
  if (isAsked) return true
  const others = directUserIds.filter((userId) => userId !== context.owner.userId)
  const records = [...(await recordsOf(context, others)).values()]
  return records.some(({ status }) => status === Verification.VERIFIED || status === Verification.CHANGED)
}
