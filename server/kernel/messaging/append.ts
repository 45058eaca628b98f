// Decides an append. The protocol's order is: idempotency, sender, epoch; then the message is verified elsewhere; then
// the same checks again under the lock, because a commit may have changed the epoch.
import type { Reason } from "../errors.ts"
import type { DeviceId } from "../ids.ts"
import { equalBytes } from "./bytes.ts"
import { isOnTheWayOut, requiredCommit } from "./directive.ts"
import { lostSeqGap } from "./limits.ts"
import type { MembershipOp } from "./membership.ts"
import type { Conversation, Directive, Leaf } from "./records.ts"
import { leafOf } from "./roster.ts"
import type { VerifiedAppend } from "./verified.ts"

/** An earlier response to this idempotency key, or to this content under another key. */
export interface Answered {
  readonly contentHash: Uint8Array
}

/** The same key with the same content is a retry. With other content it is an error that must be reported. */
export function decideReplay(answered: Answered | undefined, contentHash: Uint8Array): "new" | "replay" | "mismatch" {
  if (answered === undefined) return "new"
  return equalBytes(answered.contentHash, contentHash) ? "replay" : "mismatch"
}

/** An append before its message is parsed. */
export interface Attempt {
  readonly kind: "APPLICATION" | "COMMIT"
  readonly deviceId: DeviceId
  readonly expectedEpoch: bigint
  /** The epoch that the message is framed in; undefined before parsing. */
  readonly framedEpoch?: bigint
  /** The change of members that a commit proves: null for none, undefined before parsing. */
  readonly membership?: { readonly op: MembershipOp; readonly isDirected: boolean } | null
  /** The commit replaces a former credential of its committer. */
  readonly renewsLeaf?: boolean
  /** The commit starts a new group for the conversation; undefined before parsing. */
  readonly isReset?: boolean
  /** The caller has processed the log up to this sequence number. Default: 0. */
  readonly processedSeq?: bigint
  /** The sequence number that a resubmitted message had; absent for a new one. */
  readonly resubmittedSeq?: bigint
}

/** The attempt that a verified message is. */
export const attemptOf = ({ commit, deviceId, epoch, processedSeq, resubmitted }: VerifiedAppend): Attempt => ({
  kind: commit === null ? "APPLICATION" : "COMMIT",
  deviceId,
  expectedEpoch: epoch,
  framedEpoch: epoch,
  membership: commit?.membership ?? null,
  renewsLeaf: commit?.renewsLeaf ?? false,
  isReset: commit !== null && commit.resetGroupId !== null,
  ...(processedSeq === undefined ? {} : { processedSeq }),
  ...(resubmitted === undefined ? {} : { resubmittedSeq: resubmitted.seq }),
})

export type AppendDecision =
  | { readonly is: "append"; readonly seq: bigint; readonly nextEpoch: bigint; readonly acceptedAtMs: number }
  /** Another commit ended the epoch. */
  | { readonly is: "conflict" }
  /** The epoch of an application message has passed. */
  | { readonly is: "stale" }
  | { readonly is: "commitRequired"; readonly directive: Directive }
  | { readonly is: "refuse"; readonly reason: Reason }

/** Decides whether the append continues. Called before the message is parsed and again under the conversation's lock. */
export function decideAppend(conversation: Conversation, attempt: Attempt, nowMs: number): AppendDecision {
  const refused = refusedSender(conversation, attempt)
  if (refused !== undefined) return { is: "refuse", reason: refused }
  const seq = nextSeq(conversation, attempt)
  if (!mayTake(conversation, seq, attempt)) return { is: "refuse", reason: "LOG_INCOMPLETE" }
  const { epoch } = conversation
  const framed = attempt.framedEpoch ?? attempt.expectedEpoch
  // Two different epochs in one request are a client error in any epoch.
  if (framed !== attempt.expectedEpoch) return { is: "refuse", reason: "ENVELOPE_INVALID" }
  if (framed > epoch) return { is: "refuse", reason: "FUTURE_EPOCH" }
  if (framed < epoch) return attempt.kind === "COMMIT" ? { is: "conflict" } : { is: "stale" }
  if (attempt.kind === "APPLICATION" && epoch === 0n) return { is: "refuse", reason: "NOT_MEMBER" }
  const directive = mayPrecedeRemovals(attempt) ? undefined : requiredCommit(conversation, attempt.kind, nowMs)
  if (directive !== undefined) return { is: "commitRequired", directive }
  return {
    is: "append",
    seq,
    nextEpoch: attempt.kind === "COMMIT" ? epoch + 1n : epoch,
    // Never decreases, even if the clock was set back.
    acceptedAtMs: Math.max(nowMs, conversation.headAtMs),
  }
}

/**
 * The next sequence number. If a member has read beyond the end of the log, the log has lost envelopes. The commit by
 * which such a member continues, a reset or its removal for a rejoin, skips the lost numbers: no member may read two
 * envelopes under one number. The member's claim itself is no number of the log: it could use up all of them.
 */
function nextSeq({ headSeq, directives }: Conversation, attempt: Attempt): bigint {
  const { kind, isReset, membership, processedSeq = 0n, resubmittedSeq } = attempt
  const skips = (): boolean => {
    // Its receipt proves the number.
    if (resubmittedSeq !== undefined) return kind === "COMMIT" && resubmittedSeq === headSeq + lostSeqGap
    if (isReset === true) return processedSeq > headSeq
    const isRejoin = membership?.op === "REJOIN" && membership.isDirected
    return isRejoin && directives.some(({ status, isBeyondLog }) => status === "OPEN" && isBeyondLog === true)
  }
  return headSeq + (skips() ? lostSeqGap : 1n)
}

/**
 * True if the attempt may have the next sequence number. A caller that has read beyond it knows of a message there that
 * the service has lost, and a resubmitted message returns to its own number only: readers refuse a second message under
 * one number. A reset skips the numbers that its sender has read.
 */
function mayTake(conversation: Conversation, seq: bigint, attempt: Attempt): boolean {
  const { processedSeq = 0n, resubmittedSeq, isReset } = attempt
  if (resubmittedSeq !== undefined) return resubmittedSeq === seq
  return processedSeq < seq || isReset === true || (isReset === undefined && mayReset(conversation, attempt))
}

/**
 * True for a commit that removes members for a directive, that begins a group without them, or without which its sender
 * cannot commit a removal; and before parsing, for any commit. All other items wait for open removals: a member could
 * delay these with commits of its own. A resubmitted item waited already, when it was appended first.
 */
function mayPrecedeRemovals({ kind, membership, renewsLeaf, isReset, resubmittedSeq }: Attempt): boolean {
  if (resubmittedSeq !== undefined) return true
  if (kind !== "COMMIT") return false
  if (membership === undefined || isReset === true) return true
  return membership === null ? renewsLeaf === true : membership.isDirected && membership.op !== "REJOIN"
}

function refusedSender(conversation: Conversation, attempt: Attempt): Reason | undefined {
  const { kind, deviceId, membership, isReset } = attempt
  if (conversation.status === "CLOSED") return "CONVERSATION_CLOSED"
  const own = leafOf(conversation.roster, deviceId)
  // Before the first commit the roster is empty: a proof decides who may send it.
  const isFirst = conversation.epoch === 0n && kind === "COMMIT"
  if (own === undefined && !isFirst && !mayReset(conversation, attempt)) return "NOT_MEMBER"
  const leaving = own && isOnTheWayOut(conversation.directives, own)
  if (leaving !== undefined) return leaving
  if (isReset) return undefined
  // The kind of a commit is unknown before parsing; the second call decides.
  const isOther = kind === "APPLICATION" || (membership !== undefined && membership?.isDirected !== true)
  return conversation.status === "QUARANTINED" && isOther ? "CONVERSATION_QUARANTINED" : undefined
}

/** For a device without a leaf. Before parsing, a commit in the current epoch may be a reset. */
const mayReset = ({ kind, epoch }: Conversation, attempt: Attempt): boolean =>
  kind === "DIRECT" && attempt.kind === "COMMIT" && attempt.isReset !== false && attempt.expectedEpoch === epoch

/** Returns the committer's leaf if it belongs to the caller. The creator of a group is its first leaf. */
export function committerOf(
  conversation: Conversation,
  sender: number,
  deviceId: DeviceId,
  isFirst: boolean,
): Leaf | "first" | undefined {
  if (isFirst) return sender === 0 ? "first" : undefined
  const leaf = conversation.roster.find(({ leafIndex }) => leafIndex === sender)
  return leaf?.deviceId === deviceId ? leaf : undefined
}
