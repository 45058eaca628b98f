// What becomes of an append. The order is the protocol's: idempotency, who may, epoch; then, outside of here, what the
// bytes say; then the same again under the lock, since only the epoch keeps a roster from changing.
import type { Reason } from "../errors.ts"
import type { DeviceId } from "../ids.ts"
import { equalBytes } from "./bytes.ts"
import { isOnTheWayOut, requiredCommit } from "./directive.ts"
import type { Conversation, Directive, Leaf } from "./records.ts"
import { leafOf } from "./roster.ts"

/** An answer that was given before: to this key, or to this content under another key. */
export interface Answered {
  readonly contentHash: Uint8Array
}

/** The same key with the same content is the same call. With other content it is a mistake that must not pass silently. */
export function decideReplay(answered: Answered | undefined, contentHash: Uint8Array): "new" | "replay" | "mismatch" {
  if (answered === undefined) return "new"
  return equalBytes(answered.contentHash, contentHash) ? "replay" : "mismatch"
}

/** What is known of an append before its bytes are looked at. */
export interface Attempt {
  readonly kind: "APPLICATION" | "COMMIT"
  readonly deviceId: DeviceId
  readonly expectedEpoch: bigint
  /** The epoch that the message is framed in; undefined before it was parsed. */
  readonly framedEpoch?: bigint
  /** A commit that carries out a directive: the way out of quarantine. */
  readonly isDirected?: boolean
  /** A commit that begins another group of the conversation; undefined before it was parsed. */
  readonly isReset?: boolean
}

export type AppendDecision =
  | { readonly is: "append"; readonly seq: bigint; readonly nextEpoch: bigint; readonly acceptedAtMs: number }
  /** Another commit took the epoch. */
  | { readonly is: "conflict" }
  /** The epoch of an application message has passed. */
  | { readonly is: "stale" }
  | { readonly is: "commitRequired"; readonly directive: Directive }
  | { readonly is: "refuse"; readonly reason: Reason }

/** Whether the attempt goes on: asked once before the message is parsed, and again under the conversation's lock. */
export function decideAppend(conversation: Conversation, attempt: Attempt, nowMs: number): AppendDecision {
  const refused = refusedSender(conversation, attempt)
  if (refused !== undefined) return { is: "refuse", reason: refused }
  const { epoch } = conversation
  const framed = attempt.framedEpoch ?? attempt.expectedEpoch
  // Two epochs in one request are a mistake of the client's, whatever the conversation's is.
  if (framed !== attempt.expectedEpoch) return { is: "refuse", reason: "ENVELOPE_INVALID" }
  if (framed > epoch) return { is: "refuse", reason: "FUTURE_EPOCH" }
  if (framed < epoch) return attempt.kind === "COMMIT" ? { is: "conflict" } : { is: "stale" }
  if (attempt.kind === "APPLICATION") {
    if (epoch === 0n) return { is: "refuse", reason: "NOT_MEMBER" }
    const directive = requiredCommit(conversation, nowMs)
    if (directive !== undefined) return { is: "commitRequired", directive }
  }
  return {
    is: "append",
    seq: conversation.headSeq + 1n,
    nextEpoch: attempt.kind === "COMMIT" ? epoch + 1n : epoch,
    // A clock that was set back does not take the log with it.
    acceptedAtMs: Math.max(nowMs, conversation.headAtMs),
  }
}

function refusedSender(conversation: Conversation, attempt: Attempt): Reason | undefined {
  const { kind, deviceId, isDirected, isReset } = attempt
  if (conversation.status === "CLOSED") return "CONVERSATION_CLOSED"
  const own = leafOf(conversation.roster, deviceId)
  // Before the first commit nobody is in: the proof says who may make it.
  const isFirst = conversation.epoch === 0n && kind === "COMMIT"
  if (own === undefined && !isFirst && !mayReset(conversation, attempt)) return "NOT_MEMBER"
  const leaving = own && isOnTheWayOut(conversation.directives, own)
  if (leaving !== undefined) return leaving
  if (isReset) return undefined
  // Before it was parsed a commit may be anything: it is asked again.
  return conversation.status === "QUARANTINED" && (kind === "APPLICATION" || isDirected === false)
    ? "CONVERSATION_QUARANTINED"
    : undefined
}

/** Of a device without a leaf. Before it was parsed, a commit of the newest epoch may be a reset. */
const mayReset = ({ kind, epoch }: Conversation, attempt: Attempt): boolean =>
  kind === "DIRECT" && attempt.kind === "COMMIT" && attempt.isReset !== false && attempt.expectedEpoch === epoch

/** The committer's leaf, when it is the caller's; the creator of a group is its first leaf. */
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
