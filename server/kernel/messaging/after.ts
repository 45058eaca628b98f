import type { AppendDecision } from "./append.ts"
import type { ReceiptFacts } from "./authority.ts"
import { directivesAfter } from "./directive.ts"
import { openReports } from "./fork.ts"
import type { Conversation } from "./records.ts"
import type { DirectiveOutcome, VerifiedAppend, VerifiedCommit } from "./verified.ts"

/**
 * Returns the conversation after an append was decided: the rows that the store writes, identical in every backend.
 *
 * @param receiptHash Hash of the commit's receipt; unused for an application message.
 */
export function conversationAfter(
  conversation: Conversation,
  { commit }: Pick<VerifiedAppend, "commit">,
  decided: Extract<AppendDecision, { is: "append" }>,
  receiptHash: Uint8Array,
): { conversation: Conversation; directives: readonly DirectiveOutcome[] } {
  const grown = { ...conversation, headSeq: decided.seq, headAtMs: decided.acceptedAtMs }
  if (commit === null) return { conversation: grown, directives: [] }
  const isReset = commit.resetGroupId !== null
  // Old directives and reports do not apply to the new group: the devices to remove are not in it.
  const all = isReset
    ? conversation.directives.map((directive) => ({ ...directive, status: "DONE" as const, lease: null }))
    : directivesAfter(conversation.directives, commit.roster)
  const changed = all.filter((directive, i) => directive.status !== conversation.directives[i]?.status)
  const forkReports = isReset ? [] : openReports(conversation.forkReports, commit.roster)
  const isRecovered = conversation.status === "QUARANTINED" && forkReports.length === 0
  return {
    conversation: {
      ...grown,
      status: isRecovered ? "ACTIVE" : conversation.status,
      mlsGroupId: commit.resetGroupId ?? conversation.mlsGroupId,
      epoch: decided.nextEpoch,
      roster: commit.roster,
      state: { ...commit.state, receiptHash },
      directives: all.filter(({ status }) => status !== "DONE"),
      forkReports,
    },
    directives: changed.flatMap(({ id, status }) => (status === "OPEN" ? [] : [{ id, status }])),
  }
}

/** The facts in the receipt of a commit: identical in every backend. */
export function receiptFacts(
  { id, mlsGroupId, state }: Conversation,
  { epoch, contentHash }: Pick<VerifiedAppend, "epoch" | "contentHash">,
  commit: VerifiedCommit,
  { seq, acceptedAtMs }: Extract<AppendDecision, { is: "append" }>,
): ReceiptFacts {
  return {
    conversationId: id,
    mlsGroupId: commit.resetGroupId ?? mlsGroupId,
    epoch,
    seq,
    commitHash: contentHash,
    proofHash: commit.membership?.proofHash ?? null,
    groupInfoHash: commit.groupInfo?.hash ?? new Uint8Array(),
    treeBlobHash: commit.tree?.hash ?? null,
    previousReceiptHash: state?.receiptHash ?? null,
    acceptedAtMs,
    resultingStateTag: commit.state.stateTag,
  }
}
