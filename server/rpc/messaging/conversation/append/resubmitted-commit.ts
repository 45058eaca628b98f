// Verifies a commit that the service accepted before, and has lost since: its receipt proves the acceptance. The state
// that it leads to is computed, because only the committer had the GroupInfo.
import { type CommitReceipt, verifyCommitReceipt } from "@signet/canonical/commit-receipt"
import { hash, stateTagOf } from "@signet/canonical/hash"
import { Refused } from "@signet/kernel/errors"
import { idBytes } from "@signet/kernel/ids"
import type { Resubmitted } from "@signet/kernel/messaging/verified"
import { nextGroupContext, parseGroupContext } from "../../../../framing/group-info.ts"
import { treeAfter, treeBytes } from "../../../../framing/next-tree.ts"
import {
  interimTranscriptHash,
  nextConfirmedTranscriptHash,
  verifyCommitSignature,
} from "../../../../framing/transcript.ts"
import { treeHash } from "../../../../framing/tree-hash.ts"
import { judgeChange } from "./change.ts"
import { unsigned } from "./credential.ts"
import type { Judge } from "./judge.ts"
import { judging } from "./refusing.ts"
import { mismatch } from "./tree.ts"
import { type JudgedCommit, nextRoster, type OpenedCommit } from "./verify-commit.ts"

/** The service's knowledge, and its clock. */
export type Known = Pick<Judge, "conversation" | "issuerKeys" | "verify" | "tree" | "nowMs">

/** A verified commit with its receipt. */
export interface ResubmittedCommit {
  readonly judged: JudgedCommit
  readonly receipt: NonNullable<Resubmitted["receipt"]>
  /** When the service accepted it first. */
  readonly acceptedAtMs: number
  readonly committer: Judge["device"]
}

/** A returned commit, its former sequence number, and the receipt. */
export interface Returned {
  readonly message: Uint8Array
  readonly seq: bigint
  readonly receipt: Uint8Array
}

/** @throws Refused ENVELOPE_INVALID for a receipt that does not continue the log. */
export function verifyReturnedReceipt(
  { conversation, issuerKeys, verify, nowMs }: Omit<Known, "tree">,
  { commit, aad: { membershipProof: proof } }: OpenedCommit,
  { message, seq, receipt }: Returned,
): CommitReceipt {
  const { id, mlsGroupId, state } = conversation
  return judging(() =>
    verifyCommitReceipt(receipt, {
      issuerKeys,
      verify,
      conversationId: idBytes(id),
      mlsGroupId,
      epoch: commit.epoch,
      seq,
      commitHash: hash("commit", message),
      proofHash: proof.length === 0 ? undefined : hash("membership-proof", proof),
      previous: state === null ? "first" : { hash: state.receiptHash, acceptedAtMs: 0n },
      nowMs: BigInt(nowMs),
    }),
  )
}

/**
 * The receipt must name the commit, its sequence number and the receipt before it, so that it continues the log. Claim
 * tickets and the expiry of key packages were checked at the first acceptance.
 *
 * @throws Refused ENVELOPE_INVALID for a receipt that does not continue the log; GROUP_INFO_MISMATCH if the service has
 * no tree of the epoch; and what AppendMessage refuses in a commit.
 */
export function verifyResubmitted(known: Known, { commit, aad }: OpenedCommit, returned: Returned): ResubmittedCommit {
  const { conversation, verify, tree } = known
  const { state, roster } = conversation
  if (state === null || tree === undefined) throw mismatch("the ratchet tree of the epoch is not stored")
  const proof = aad.membershipProof
  const { body, hash: receiptHash } = verifyReturnedReceipt(known, { commit, aad }, returned)
  const leaf = roster.find(({ leafIndex }) => leafIndex === commit.sender)
  const key = leaf && tree.leaves.get(leaf.leafIndex)?.signatureKey
  if (leaf === undefined || key === undefined) throw new Refused("NOT_MEMBER")
  if (!verifyCommitSignature(commit, state.groupContext, key, verify)) throw unsigned("the commit")
  const acceptedAtMs = Number(body.acceptedAtMs)
  const committer = { id: leaf.deviceId, userId: leaf.userId }
  const judge: Judge = { ...known, begins: null, device: committer, nowMs: acceptedAtMs }
  const before = parseGroupContext(state.groupContext)
  const change = judgeChange(judge, commit, leaf.credentialHash, proof, before)
  const next = treeAfter(tree, commit)
  if (next === undefined) throw mismatch("the commit does not match the ratchet tree")
  const blob = treeBytes(next)
  const blobHash = hash("tree-blob", blob)
  const confirmedTranscriptHash = nextConfirmedTranscriptHash(state.interimTranscriptHash, commit)
  return {
    receipt: { bytes: returned.receipt, hash: receiptHash },
    acceptedAtMs,
    committer,
    judged: {
      added: change.added,
      removed: change.removed,
      verified: {
        resetGroupId: null,
        membership: change.membership,
        renewsLeaf: false,
        roster: nextRoster(judge, leaf, change),
        groupInfo: null,
        tree: { bytes: blob, hash: blobHash },
        state: {
          stateTag: stateTagOf(commit.confirmationTag),
          groupContext: nextGroupContext(before, { treeHash: treeHash(next), confirmedTranscriptHash }),
          interimTranscriptHash: interimTranscriptHash(confirmedTranscriptHash, commit.confirmationTag),
          treeHash: blobHash,
        },
        welcomes: [],
      },
    },
  }
}
