// Whether the service still tells the story that this device has followed. One that told it another commit than the
// others were told refuses what follows from that, and shows what it counts itself.
import { create, toBinary } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import {
  type ConversationRecord,
  ConversationRecord_QuarantineSchema,
  ConversationRecordSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { type Envelope, Envelope_Kind, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { failureOf } from "../../errors.ts"
import { verifyEvidence } from "../checks/evidence.ts"
import { Forked, faultOf } from "../checks/verdict.ts"
import type { Conversation } from "../context.ts"
import { isReading } from "../conversation/status.ts"
import { stateTag } from "../mls.ts"
import { refusingAs } from "../refusing.ts"
import type { LocalGroup, StoredConversation } from "../state/stored-conversation.ts"
import { reportQuarantine, requestRejoin } from "./log.ts"

/** Whether a refusal says that the service counts another commit, or another state, than the one that this device is at. */
export function mayBeEquivocation(error: unknown): boolean {
  const failure = failureOf(error)
  return failure?.reason === "PROOF_STALE" || failure?.metadata.code === "AAD_WRONG_RECEIPT"
}

/**
 * Asks the log again for the commit that this epoch began with. Where it has another one by now, with a receipt that
 * verifies, two stories were told: the conversation is quarantined, with that envelope for evidence, reported, and asked
 * to be let in again. What waits to be sent stays. The service's word alone, without such a receipt, changes nothing.
 *
 * @returns Whether it is so. Runs in the turn of the conversation.
 * @throws MessagingError ANSWER_REFUSED for a receipt that does not verify.
 */
export async function handleEquivocation(conversation: Conversation): Promise<boolean> {
  const stored = await conversation.stored()
  const told = await findEquivocation(conversation, stored)
  if (told === undefined) return false
  const isDone = await conversation.change(async (now) => {
    const { record, local } = now
    const isStill = local !== undefined && local.group.epoch === stored.local?.group.epoch && isReading(record)
    if (record === undefined || !isStill) return { result: false }
    const verdict = new Forked("RECEIPT_TOLD_DIFFERS", { stateTag: stateTag(local.group) })
    const quarantine = create(ConversationRecord_QuarantineSchema, {
      reason: verdict.reason,
      seq: told.seq,
      epoch: told.epoch,
      envelope: toBinary(EnvelopeSchema, told),
      stateTag: verdict.stateTag,
      fault: faultOf(verdict),
    })
    const next = create(ConversationRecordSchema, { ...record, status: Status.QUARANTINED, quarantine })
    return { next: { ...now, record: next }, result: true }
  })
  if (isDone) await reportAndRejoin(conversation)
  return isDone
}

/** Whether a quarantine is over the service's own receipts: then the way back is asked for without anybody's doing. */
export const isEquivocation = (record: ConversationRecord | undefined): boolean =>
  record?.status === Status.QUARANTINED && record.quarantine?.reason === "RECEIPT_TOLD_DIFFERS"

/** Tells the service, and asks to be let in again. What cannot be done now is done by the next sync. */
export async function reportAndRejoin(conversation: Conversation): Promise<void> {
  await reportQuarantine(conversation)
  await requestRejoin(conversation)
}

/** The commit that the log has now in the place of the one that was followed; undefined where it is that one, or none. */
async function findEquivocation(
  conversation: Conversation,
  { record, local }: StoredConversation,
): Promise<Envelope | undefined> {
  if (local === undefined || local.receipt === "first" || !isReading(record)) return undefined
  const envelope = await commitBefore(conversation, local, record?.joinedSeq ?? 0n)
  if (envelope === undefined) return undefined
  if (equalBytes(hash("commit-receipt", envelope.receipt), local.receipt.hash)) return undefined
  await conversation.issuer.refresh()
  await refusingAs("ANSWER_REFUSED", async () => verifyEvidence(conversation, conversation.id, local.group, envelope))
  return envelope
}

const pageSize = 200n

/** The commit that led to the epoch of the local group, as the log has it now: looked for backwards from where this device is. */
async function commitBefore(
  { calls, id: conversationId }: Conversation,
  { processedSeq, group }: LocalGroup,
  joinedSeq: bigint,
): Promise<Envelope | undefined> {
  const first = joinedSeq > 0n ? joinedSeq - 1n : 0n
  for (let upTo = processedSeq; upTo > first; ) {
    const start = upTo - pageSize > first ? upTo - pageSize : first
    for (let afterSeq = start; afterSeq < upTo; ) {
      const page = { conversationId, afterSeq, limit: Number(upTo - afterSeq) }
      const { envelopes } = await calls.conversations.listMessages(page)
      const found = envelopes.find(({ kind, epoch }) => kind === Envelope_Kind.COMMIT && epoch === group.epoch - 1n)
      if (found !== undefined) return found
      const last = envelopes.at(-1)?.seq ?? upTo
      afterSeq = last > afterSeq ? last : upTo
    }
    upTo = start
  }
  return undefined
}
