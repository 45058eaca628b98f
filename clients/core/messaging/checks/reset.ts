import { equalBytes } from "@signet/canonical/bytes"
import { type CommitReceipt, verifyCommitReceipt } from "@signet/canonical/commit-receipt"
import { parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { verifyMembershipProof } from "@signet/canonical/membership-proof"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { MembershipOp } from "@signet/proto/credential/v1/policy_proof"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import { bytesOfId } from "../ids.ts"
import { frameOf, type GroupState, stateTag } from "../mls.ts"
import type { LocalGroup } from "../state/stored-conversation.ts"
import { checkReceiptSeen } from "./commit.ts"
import { Forked } from "./verdict.ts"
import type { VerificationContext } from "./verification-context.ts"

/** True if a commit is framed in another group than the given one. @throws MlsError */
export const isOfOtherGroup = ({ groupId }: GroupState, { message }: Envelope): boolean =>
  !equalBytes(frameOf(message).groupId, groupId)

/** A reset that another device committed. */
interface VerifiedReset {
  /** The group that the reset begins. */
  readonly mlsGroupId: Uint8Array
  readonly receipt: CommitReceipt
}

/**
 * Verifies another device's reset. This device is no member of the new group, so it checks only that the receipt
 * continues our newest one, and that the auth service's proof is of a RESET of this conversation in our state. The
 * devices that join by the commit check its contents.
 *
 * @throws CanonicalError, MlsError, Forked
 */
export function verifyReset(
  verification: VerificationContext,
  { group, receipt: previous }: Pick<LocalGroup, "group" | "receipt">,
  envelope: Envelope,
): VerifiedReset {
  const { conversationId, record } = verification
  const id = bytesOfId("cnv", conversationId)
  const frame = frameOf(envelope.message)
  const isNext = frame.kind === "commit" && frame.epoch === group.epoch && envelope.epoch === group.epoch
  const isOfConversation = equalBytes(frame.groupId.subarray(0, 16), id)
  if (!record.isDirect || !isNext || !isOfConversation) throw new Forked("ENVELOPE_MISPLACED")
  const aad = parseEnvelopeAad(frame.aad, { conversationId: id, kind: EnvelopeKind.COMMIT })
  const receipt = verifyCommitReceipt(envelope.receipt, {
    ...verification,
    conversationId: id,
    mlsGroupId: frame.groupId,
    epoch: group.epoch,
    seq: envelope.seq,
    commitHash: hash("commit", envelope.message),
    proofHash: hash("membership-proof", aad.membershipProof),
    previous,
    nowMs: BigInt(verification.nowMs),
  })
  checkReceiptSeen(aad.lastReceiptHash, previous)
  const { body } = verifyMembershipProof(aad.membershipProof, {
    ...verification,
    conversationId: id,
    mlsGroupId: frame.groupId,
    baseEpoch: group.epoch,
    baseStateTag: stateTag(group),
    atSeconds: receipt.body.acceptedAtMs / 1_000n,
  })
  if (body.op !== MembershipOp.RESET) throw new Forked("ENVELOPE_MISPLACED")
  return { mlsGroupId: frame.groupId, receipt }
}
