import { equalBytes } from "@signet/canonical/bytes"
import { decode } from "@signet/canonical/canonical"
import { type CommitReceipt, verifyCommitReceipt } from "@signet/canonical/commit-receipt"
import { isSameDevice } from "@signet/canonical/device-credential"
import { parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { checkEffect } from "@signet/canonical/membership-effect"
import { type MembershipProof, verifyMembershipProof } from "@signet/canonical/membership-proof"
import { parseSigned } from "@signet/canonical/signed"
import type { ConversationRecord } from "@signet/proto/client/v1/records"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { MembershipOp, MembershipProofBodyV1Schema } from "@signet/proto/credential/v1/policy_proof"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import { hex } from "../crypto/bytes.ts"
import { bytesOfId, idOf } from "../ids.ts"
import { type CommitChange, frameOf, type Member, stateTag } from "../mls.ts"
import type { Seat } from "../state/held.ts"
import { credentialBody, type Realm, verifyMember } from "./roster.ts"
import { Forked, type ForkReason } from "./verdict.ts"

/** What commits of a conversation are judged by. */
export interface Bench extends Realm {
  readonly conversationId: string
  readonly record: ConversationRecord
  readonly nowMs: number
}

/** A commit whose papers are good. What it does is still for `judgeChange`, and where it leads for `checkState`. */
export interface CheckedPapers {
  readonly receipt: CommitReceipt
  readonly proof: MembershipProof | undefined
  /** When it was taken, as the receipt says: what is judged by time is judged then. */
  readonly atSeconds: bigint
}

/**
 * Checks all of a commit that can be checked without group secrets: before the engine runs, and for own commits too.
 *
 * @param isOwnReset it is the commit by which this device replaced a group that it was not in.
 * @throws EngineRefused, CanonicalError, Forked
 */
export function checkPapers(
  bench: Bench,
  { group, receipt: previous }: Seat,
  envelope: Envelope,
  isOwnReset = false,
): CheckedPapers {
  const { conversationId, issuerKeys, verify } = bench
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
    nowMs: BigInt(bench.nowMs),
    verify,
  })
  checkReceiptSeen(aad.lastReceiptHash, previous)
  const atSeconds = receipt.body.acceptedAtMs / 1_000n
  const proof =
    signedProof &&
    verifyMembershipProof(signedProof, {
      ...bench,
      conversationId: id,
      mlsGroupId: group.groupId,
      baseEpoch: group.epoch,
      baseStateTag: isOwnReset ? baseTagIn(signedProof) : stateTag(group),
      atSeconds,
    })
  // A reset leads out of a group, and never from one state of it to another.
  ensure((proof?.body.op === MembershipOp.RESET) === isOwnReset, "GROUP_NOT_NEW")
  return { receipt, proof, atSeconds }
}

function baseTagIn(signed: Uint8Array): Uint8Array {
  const schema = MembershipProofBodyV1Schema
  return decode(schema, parseSigned(schema, signed).body).baseStateTag
}

/** A sender in the same epoch has seen the same receipt, or none. @throws Forked */
export function checkReceiptSeen(seen: Uint8Array, previous: Seat["receipt"]): void {
  if (seen.length === 0) return
  ensure(previous !== "first" && equalBytes(seen, previous.hash), "RECEIPT_SEEN_DIFFERS")
}

/**
 * Whether a commit does exactly what its proof says, and leaves a group that may be.
 *
 * @param members those of the epoch that the commit was framed in.
 * @throws CanonicalError, Forked
 */
export function judgeChange(
  bench: Bench,
  { proof, atSeconds }: CheckedPapers,
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
  for (const one of change.added) verifyMember(bench, one, atSeconds)
  if (change.path !== undefined) {
    const { before, after } = change.path
    const { body } = verifyMember(bench, after, atSeconds)
    ensure(isSameDevice(credentialBody(before.credential), body), "LEAF_OF_ANOTHER_DEVICE")
  }
  const gone = new Set(change.removed.map(({ leaf }) => leaf))
  checkMembers(bench, [...members.filter(({ leaf }) => !gone.has(leaf)), ...change.added])
}

/** One leaf a device; in a direct conversation, nobody but its two users. @throws Forked */
export function checkMembers({ record }: Pick<Bench, "record">, members: readonly Member[]): void {
  const bodies = members.map(({ credential }) => credentialBody(credential))
  ensure(new Set(bodies.map(({ deviceId }) => hex(deviceId))).size === bodies.length, "DEVICE_TWICE")
  if (!record.isDirect) return
  const users = new Set(bodies.map(({ userId }) => idOf("prn", userId)))
  ensure(users.size <= 2, "THIRD_USER")
  const { directUserIds } = record
  const isTheirs = directUserIds.length === 0 || [...users].every((user) => directUserIds.includes(user))
  ensure(isTheirs, "THIRD_USER")
}

/** Whether a commit leads where its receipt says. @throws Forked */
export function checkState({ receipt }: CheckedPapers, tag: Uint8Array): void {
  if (!equalBytes(tag, receipt.body.resultingStateTag)) throw new Forked("STATE_TAG_DIFFERS", { stateTag: tag })
}

function ensure(condition: boolean, reason: ForkReason): asserts condition {
  if (!condition) throw new Forked(reason)
}
