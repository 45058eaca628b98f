// A reset that somebody else began: the log's next commit is framed in another group of the same conversation.
import { create } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { verifyCommitReceipt } from "@signet/canonical/commit-receipt"
import { parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { verifyMembershipProof } from "@signet/canonical/membership-proof"
import {
  type ConversationRecord,
  ConversationRecordSchema,
  ConversationRecord_Status as Status,
  VerificationRecord_Status as Verification,
} from "@signet/proto/client/v1/records"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { MembershipOp } from "@signet/proto/credential/v1/policy_proof"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import { type Bench, checkReceiptSeen } from "../checks/commit.ts"
import { Forked } from "../checks/verdict.ts"
import type { Storage, Trust } from "../deps.ts"
import type { TimelineEntry } from "../events.ts"
import { bytesOfId } from "../ids.ts"
import { frameOf, stateTag, wipeState } from "../mls.ts"
import type { Held, Seat } from "../state/held.ts"
import { recordsOf } from "../verification/peer-rows.ts"

/** Whether a commit is framed in another group than the one that this device is in. */
export const isOfOtherGroup = ({ group }: Seat, { message }: Envelope): boolean =>
  !equalBytes(frameOf(message).groupId, group.groupId)

/**
 * Leaves the replaced group, and waits for the welcome to the new one. The break is an entry of the timeline.
 *
 * What this device can check of a group that it is not in: the service's receipt follows the one that it followed, the
 * auth service's proof is of a RESET, of this conversation, and of exactly the state that this device is in. What the
 * commit does is checked by whoever joins by it.
 *
 * @throws CanonicalError, EngineRefused, Forked for anything else: nothing has changed then.
 */
export async function followReset(
  context: Storage & Pick<Trust, "owner">,
  bench: Bench,
  seat: Seat,
  envelope: Envelope,
): Promise<{ held: Held; entries: readonly TimelineEntry[]; done: undefined; finish: () => void }> {
  const { conversationId, record } = bench
  const { group, receipt: previous } = seat
  const id = bytesOfId("cnv", conversationId)
  const frame = frameOf(envelope.message)
  const isNext = frame.kind === "commit" && frame.epoch === group.epoch && envelope.epoch === group.epoch
  const isOfConversation = frame.groupId.length === 32 && equalBytes(frame.groupId.subarray(0, 16), id)
  if (!record.isDirect || !isNext || !isOfConversation) throw new Forked("ENVELOPE_MISPLACED")
  const aad = parseEnvelopeAad(frame.aad, { conversationId: id, kind: EnvelopeKind.COMMIT })
  const receipt = verifyCommitReceipt(envelope.receipt, {
    ...bench,
    conversationId: id,
    mlsGroupId: frame.groupId,
    epoch: group.epoch,
    seq: envelope.seq,
    commitHash: hash("commit", envelope.message),
    proofHash: hash("membership-proof", aad.membershipProof),
    previous,
    nowMs: BigInt(bench.nowMs),
  })
  checkReceiptSeen(aad.lastReceiptHash, previous)
  const { body } = verifyMembershipProof(aad.membershipProof, {
    ...bench,
    conversationId: id,
    mlsGroupId: frame.groupId,
    baseEpoch: group.epoch,
    baseStateTag: stateTag(group),
    atSeconds: receipt.body.acceptedAtMs / 1_000n,
  })
  if (body.op !== MembershipOp.RESET) throw new Forked("ENVELOPE_MISPLACED")
  const { pendingConsume: _, ...kept } = record
  const waiting = create(ConversationRecordSchema, {
    ...kept,
    status: Status.WAITING,
    mlsGroupId: frame.groupId,
    // Whatever leads in leads to the reset, or beyond it.
    joinedSeq: envelope.seq - 1n,
    resetSeq: envelope.seq,
    asksConfirmation: await asksConfirmation(context, record),
  })
  return {
    held: { record: waiting, seat: undefined, staged: undefined },
    entries: [{ seq: envelope.seq, atMs: Number(receipt.body.acceptedAtMs), is: "reset", by: undefined }],
    done: undefined,
    finish: () => wipeState(group),
  }
}

/** Whether a reset asks for a new comparison: a user whose keys were compared is in the conversation. */
export async function asksConfirmation(
  context: Storage & Pick<Trust, "owner">,
  { directUserIds, asksConfirmation: isAsked }: ConversationRecord,
): Promise<boolean> {
  if (isAsked) return true
  const others = directUserIds.filter((userId) => userId !== context.owner.userId)
  const records = [...(await recordsOf(context, others)).values()]
  return records.some(({ status }) => status === Verification.VERIFIED || status === Verification.CHANGED)
}
