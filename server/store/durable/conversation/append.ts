// One append: replay, decision, receipt, envelope and all effects of a commit, in one step without waiting.
import { conversationAfter, receiptFacts } from "@signet/kernel/messaging/after"
import { type AppendDecision, attemptOf, decideAppend } from "@signet/kernel/messaging/append"
import type { ReceiptSigner } from "@signet/kernel/messaging/authority"
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { AppendOutcome } from "@signet/kernel/messaging/ports"
import type { Conversation } from "@signet/kernel/messaging/records"
import { leafOf } from "@signet/kernel/messaging/roster"
import type { VerifiedAppend, VerifiedCommit } from "@signet/kernel/messaging/verified"
import type { Sql } from "../sql.ts"
import type { Head, Kept } from "./head.ts"
import { writeLeaves } from "./leaves.ts"
import { findReplay, insertEnvelope } from "./log.ts"
import { committedDeliveries, type Delivery } from "./notices.ts"
import { writeGroupInfo, writeTree } from "./trees.ts"
import { endWelcomesOf, writeWelcomes } from "./welcomes.ts"

type Decided = Extract<AppendDecision, { is: "append" }>

export interface Appended {
  readonly outcome: AppendOutcome
  /** Notices for the outbox, written in the same transaction. */
  readonly deliveries: readonly Delivery[]
}

interface Commit extends VerifiedAppend {
  readonly commit: VerifiedCommit
}

const isCommit = (append: VerifiedAppend): append is Commit => append.commit !== null

/** Requires a transaction. */
export function appendMessage(
  { sql, head, sign }: { readonly sql: Sql; readonly head: Head; readonly sign: ReceiptSigner },
  append: VerifiedAppend,
  nowMs: number,
): Appended {
  const kept = head.get()
  // The caller has opened the conversation, and conversations are never deleted.
  if (kept === undefined) throw new Error("the conversation does not exist")
  const { conversation } = kept
  const decision = decideAppend(conversation, attemptOf(append), nowMs)
  if (decision.is !== "append") {
    const refused = { is: "refused", decision, conversation: seenBy(conversation, append) } as const
    return { outcome: findReplay(sql, append) ?? refused, deliveries: [] }
  }
  const signed = () => isCommit(append) && sign(receiptFacts(conversation, append, append.commit, decision))
  const receipt = append.resubmitted?.receipt ?? (signed() || null)
  const { seq, acceptedAtMs } = decision
  const isNew = insertEnvelope(sql, {
    seq,
    epoch: append.epoch,
    kind: append.commit === null ? "APPLICATION" : "COMMIT",
    message: append.message,
    contentHash: append.contentHash,
    senderDeviceId: append.deviceId,
    acceptedAtMs,
    receipt: receipt?.bytes ?? null,
    idempotencyKey: append.idempotencyKey,
  })
  if (!isNew) {
    const replay = findReplay(sql, append)
    if (replay === undefined) throw new Error("a sequence number of the log is in use")
    return { outcome: replay, deliveries: [] }
  }
  const after = conversationAfter(conversation, append, decision, receipt?.hash ?? new Uint8Array())
  const answer = { seq, epoch: decision.nextEpoch, acceptedAtMs, receipt: receipt?.bytes ?? null }
  const outcome: AppendOutcome = {
    is: "appended",
    answer,
    conversation: seenBy(after.conversation, append),
    directives: after.directives,
  }
  if (receipt === null || !isCommit(append)) {
    head.grow(after.conversation)
    return { outcome, deliveries: [] }
  }
  const deliveries = writeCommit({ sql, head }, kept, after.conversation, { append, decision, receipt: receipt.bytes })
  return { outcome, deliveries }
}

/**
 * For an application message the roster has only the caller's leaf, so that a large group is not copied with each
 * message.
 */
function seenBy(conversation: Conversation, { commit, deviceId }: VerifiedAppend): Conversation {
  if (commit !== null) return conversation
  const own = leafOf(conversation.roster, deviceId)
  return { ...conversation, roster: own === undefined ? [] : [own] }
}

function writeCommit(
  { sql, head }: { readonly sql: Sql; readonly head: Head },
  kept: Kept,
  after: Conversation,
  of: { readonly append: Commit; readonly decision: Decided; readonly receipt: Uint8Array },
): readonly Delivery[] {
  const { commit, deviceId: adder } = of.append
  const { seq, acceptedAtMs: atMs } = of.decision
  const revision = kept.revision + 1
  head.write({ conversation: after, revision, pruneAtMs: kept.pruneAtMs ?? atMs + lifetimeMs.log })
  const moved = writeLeaves(sql, kept.conversation.roster, commit.roster, seq)
  writeGroupInfo(sql, after.epoch, commit.groupInfo)
  writeTree(sql, commit.tree, atMs)
  endWelcomesOf(sql, moved.gone, seq, atMs)
  writeWelcomes(sql, commit, { seq, epoch: after.epoch, receipt: of.receipt, adder, atMs })
  return committedDeliveries(kept.conversation, after, { revision, ...moved, welcomes: commit.welcomes })
}
