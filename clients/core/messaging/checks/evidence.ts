import { verifyCommitReceipt } from "@signet/canonical/commit-receipt"
import { parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import type { Ambient, Trust } from "../deps.ts"
import { bytesOfId } from "../ids.ts"
import { frameOf, type GroupState } from "../mls.ts"

/**
 * Verifies the receipt of another commit at the position of the one that began the epoch of `group`. Only a commit with
 * a valid receipt is evidence of an equivocation.
 *
 * @throws CanonicalError, MlsError
 */
export function verifyEvidence(
  { issuer, verify, clock }: Pick<Trust, "issuer" | "verify"> & Pick<Ambient, "clock">,
  conversationId: string,
  group: GroupState,
  logged: Envelope,
): void {
  const id = bytesOfId("cnv", conversationId)
  const { membershipProof } = parseEnvelopeAad(frameOf(logged.message).aad, {
    conversationId: id,
    kind: EnvelopeKind.COMMIT,
  })
  verifyCommitReceipt(logged.receipt, {
    issuerKeys: issuer.keys(),
    conversationId: id,
    mlsGroupId: group.groupId,
    epoch: group.epoch - 1n,
    seq: logged.seq,
    commitHash: hash("commit", logged.message),
    proofHash: membershipProof.length === 0 ? undefined : hash("membership-proof", membershipProof),
    previous: "unknown",
    nowMs: BigInt(clock.nowMs()),
    verify,
  })
}
