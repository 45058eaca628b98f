import { equalBytes } from "@signet/canonical/bytes"
import { decode } from "@signet/canonical/canonical"
import { type CommitReceipt, verifyCommitReceipt } from "@signet/canonical/commit-receipt"
import { isSameDevice } from "@signet/canonical/device-credential"
import { parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { checkEffect } from "@signet/canonical/membership-effect"
import { type MembershipProof, verifyMembershipProof } from "@signet/canonical/membership-proof"
import { parseSigned } from "@signet/canonical/signed"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { MembershipOp, MembershipProofBodyV1Schema } from "@signet/proto/credential/v1/policy_proof"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import { hex } from "../crypto/bytes.ts"
import { bytesOfId, idOf } from "../ids.ts"
import { type CommitChange, frameOf, type Member, stateTag } from "../mls.ts"
import type { LocalGroup } from "../state/stored-conversation.ts"
import { credentialBody, verifyMember } from "./credential.ts"
import { Forked, type ForkReason } from "./verdict.ts"
import type { VerificationContext } from "./verification-context.ts"

/** A commit with a valid receipt and proof. `checkChange` checks its proposals, `checkResultingState` its new epoch. */
export interface VerifiedCommit {
  readonly receipt: CommitReceipt
  readonly proof: MembershipProof | undefined
  /** Unix seconds: the acceptance time of the receipt. Credentials and the proof are verified at this time. */
  readonly atSeconds: bigint
}

/**
 * Verifies everything of a commit that needs no group secrets: before the engine runs, and for own commits too.
 *
 * @param isOwnReset True for the own commit that replaced a group in which this device was no member.
 * @throws MlsError, CanonicalError, Forked
 */
export function verifyCommit(
  verification: VerificationContext,
  { group, receipt: previous }: LocalGroup,
  envelope: Envelope,
  isOwnReset = false,
): VerifiedCommit {
  const { conversationId, issuerKeys, verify } = verification
  const { message } = envelope
  const frame = frameOf(message)
  ensure(frame.kind === "commit", "ENVELOPE_MISPLACED")
  ensure(equalBytes(frame.groupId, group.groupId), "ENVELOPE_MISPLACED")
  ensure(frame.epoch === group.epoch && envelope.epoch === group.epoch, "EPOCH_MISPLACED")
  const id = bytesOfId("cnv", conversationId)
  const aad = parseEnvelopeAad(frame.aad, { conversationId: id, kind: EnvelopeKind.COMMIT })
  const signedProof = aad.membershipProof.length === 0 ? undefined : aad.membershipProof
  const receipt = verifyCommitReceipt(envelope.receipt, {
    issuerKeys,
    conversationId: id,
    mlsGroupId: group.groupId,
    epoch: group.epoch,
    seq: envelope.seq,
    commitHash: hash("commit", message),
    proofHash: signedProof && hash("membership-proof", signedProof),
    previous: isOwnReset ? "unknown" : previous,
    nowMs: BigInt(verification.nowMs),
    verify,
  })
  checkReceiptSeen(aad.lastReceiptHash, previous)
  const atSeconds = receipt.body.acceptedAtMs / 1_000n
  const proof =
    signedProof &&
    verifyMembershipProof(signedProof, {
      ...verification,
      conversationId: id,
      mlsGroupId: group.groupId,
      baseEpoch: group.epoch,
      baseStateTag: isOwnReset ? baseTagIn(signedProof) : stateTag(group),
      atSeconds,
    })
  // A reset begins another group, so it is never a commit within one.
  ensure((proof?.body.op === MembershipOp.RESET) === isOwnReset, "GROUP_NOT_NEW")
  return { receipt, proof, atSeconds }
}

function baseTagIn(signed: Uint8Array): Uint8Array {
  const schema = MembershipProofBodyV1Schema
  return decode(schema, parseSigned(schema, signed).body).baseStateTag
}

/** A sender in the same epoch has seen the same receipt, or none. @throws Forked RECEIPT_SEEN_DIFFERS */
export function checkReceiptSeen(seen: Uint8Array, previous: LocalGroup["receipt"]): void {
  if (seen.length === 0) return
  ensure(previous !== "first" && equalBytes(seen, previous.hash), "RECEIPT_SEEN_DIFFERS")
}

/**
 * Checks that a commit does exactly what its proof says, and that the resulting members are allowed.
 *
 * @param members The members of the epoch in which the commit was framed.
 * @throws CanonicalError, Forked
 */
export function checkChange(
  verification: VerificationContext,
  { proof, atSeconds }: VerifiedCommit,
  members: readonly Member[],
  change: CommitChange,
): void {
  const hashOf = ({ credential }: Member) => hash("device-credential", credential)
  checkEffect(proof?.body, {
    added: change.added.map((one) => ({ credentialHash: hashOf(one), keyPackageRef: one.keyPackageReference })),
    removed: change.removed.map(hashOf),
    committer: hashOf(change.committer),
  })
  const isFirst = proof?.body.op === MembershipOp.CREATE
  ensure(!isFirst || members.length === 1, "GROUP_NOT_NEW")
  for (const one of change.added) verifyMember(verification, one, atSeconds)
  if (change.path !== undefined) {
    const { before, after } = change.path
    const { body } = verifyMember(verification, after, atSeconds)
    ensure(isSameDevice(credentialBody(before.credential), body), "LEAF_OF_ANOTHER_DEVICE")
  }
  const removed = new Set(change.removed.map(({ leaf }) => leaf))
  checkMembers(verification, [...members.filter(({ leaf }) => !removed.has(leaf)), ...change.added])
}

/** One leaf per device; in a direct conversation only its two users. @throws Forked */
export function checkMembers({ record }: Pick<VerificationContext, "record">, members: readonly Member[]): void {
  const bodies = members.map(({ credential }) => credentialBody(credential))
  ensure(new Set(bodies.map(({ deviceId }) => hex(deviceId))).size === bodies.length, "DEVICE_TWICE")
  if (!record.isDirect) return
  const users = new Set(bodies.map(({ userId }) => idOf("prn", userId)))
  ensure(users.size <= 2, "THIRD_USER")
  const { directUserIds } = record
  const isTheirs = directUserIds.length === 0 || [...users].every((user) => directUserIds.includes(user))
  ensure(isTheirs, "THIRD_USER")
}

/** Compares the state of a commit with the state that its receipt names. @throws Forked STATE_TAG_DIFFERS */
export function checkResultingState({ receipt }: VerifiedCommit, tag: Uint8Array): void {
  if (!equalBytes(tag, receipt.body.resultingStateTag)) throw new Forked("STATE_TAG_DIFFERS", { stateTag: tag })
}

function ensure(condition: boolean, reason: ForkReason): asserts condition {
  if (!condition) throw new Forked(reason)
}
