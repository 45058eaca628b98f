// Verifies everything of a commit that a server can check, in the protocol's order. Only members can check MACs and
// path secrets.

import { equalBytes, toHex } from "@signet/canonical/bytes"
import { hash, stateTagOf } from "@signet/canonical/hash"
import { Refused } from "@signet/kernel/errors"
import { committerOf } from "@signet/kernel/messaging/append"
import type { Leaf } from "@signet/kernel/messaging/records"
import { leafOf, rosterAfter, rosterFault } from "@signet/kernel/messaging/roster"
import type { VerifiedCommit } from "@signet/kernel/messaging/verified"
import type { EnvelopeAadV1 } from "@signet/proto/credential/v1/envelope_aad"
import type { AppendMessageRequest_Commit } from "@signet/proto/messaging/v1/conversation_service"
import type { Commit } from "../../../../framing/commit.ts"
import { firstGroupContext, type GroupInfo } from "../../../../framing/group-info.ts"
import { type LeafNode, verifyLeafNode } from "../../../../framing/leaf-node.ts"
import { firstTree, treeBytes } from "../../../../framing/next-tree.ts"
import { interimTranscriptHash, verifyCommitSignature } from "../../../../framing/transcript.ts"
import type { RatchetTree } from "../../../../framing/tree.ts"
import { limitExceeded } from "../../refusing.ts"
import { type AddedLeaf, judgeChange, type MembershipChange } from "./change.ts"
import { leafKeysOf, ownLeaf, unsigned } from "./credential.ts"
import { checkGroupInfo, readGroupInfo } from "./group-info.ts"
import type { CallJudge, Judge } from "./judge.ts"
import { checkTree, credentialHashOf, mismatch, nextTree, readTree } from "./tree.ts"
import { checkTickets, welcomesFor } from "./welcomes.ts"

/** A parsed commit, and its AAD frame. */
export interface OpenedCommit {
  readonly commit: Commit
  readonly aad: EnvelopeAadV1
}

export interface JudgedCommit {
  readonly verified: VerifiedCommit
  readonly added: readonly AddedLeaf[]
  readonly removed: readonly Leaf[]
}

type Parts = Pick<AppendMessageRequest_Commit, "groupInfo" | "tree" | "welcome" | "claimTickets">

/** @throws Refused what the contract lists of AppendMessage. */
export function verifyCommit(judge: CallJudge, { commit, aad }: OpenedCommit, parts: Parts): JudgedCommit {
  const { conversation, device } = judge
  const proof = aad.membershipProof
  const committer = committerOf(conversation, commit.sender, device.id, judge.begins !== null)
  if (committer === undefined) throw new Refused("NOT_MEMBER")
  const info = readGroupInfo(parts.groupInfo)
  const tree = parts.tree.length === 0 ? undefined : readTree(parts.tree)
  const signer = committer === "first" ? creatorOf(judge, commit, info, tree) : memberOf(judge, commit, committer)
  const change = judgeChange(judge, commit, signer.leaf.credentialHash, proof, info.context)
  const roster = nextRoster(judge, signer.leaf, change)
  checkGroupInfo(judge, info, commit, commit.path?.leafNode.signatureKey ?? signer.key, proof)
  if (tree === undefined && change.added.length > 0) throw mismatch("a commit that adds members needs the tree")
  if (tree !== undefined) checkTree(tree, info.context.treeHash, roster, broughtBy(commit))
  const welcomes = welcomesFor(judge, change.added, parts.welcome)
  checkTickets(judge, change.added, parts.claimTickets)
  const before = judge.tree ?? (signer.node && firstTree(signer.node))
  const next = before && nextTree(before, commit, info.context.treeHash)
  const treeBytesNow = tree === undefined ? next && treeBytes(next) : parts.tree
  const treeBlob = treeBytesNow === undefined ? null : { bytes: treeBytesNow, hash: hash("tree-blob", treeBytesNow) }
  return {
    added: change.added,
    removed: change.removed,
    verified: {
      resetGroupId: judge.begins === "reset" ? conversation.mlsGroupId : null,
      membership: change.membership,
      renewsLeaf: renewsLeaf(judge, change),
      roster,
      groupInfo: { bytes: parts.groupInfo, hash: hash("group-info", parts.groupInfo) },
      tree: treeBlob,
      state: {
        stateTag: stateTagOf(commit.confirmationTag),
        groupContext: info.context.bytes,
        interimTranscriptHash: interimTranscriptHash(info.context.confirmedTranscriptHash, commit.confirmationTag),
        treeHash: treeBlob?.hash ?? null,
      },
      welcomes,
    },
  }
}

/** The committer's leaf before the commit, and its signature key. */
interface Signer {
  readonly leaf: Leaf
  readonly key: Uint8Array
  /** The creator's leaf node: the whole group before the first commit. */
  readonly node?: LeafNode
}

/**
 * The committer as a member: its leaf's key must be one of its device's. A device that was offline until the credential
 * of that key expired may still use the key, but only to renew its leaf. The call itself is authenticated by the
 * device's proof of possession.
 */
function memberOf(judge: CallJudge, commit: Commit, leaf: Leaf): Signer {
  const context = judge.conversation.state?.groupContext
  const own = judge.tree?.leaves.get(leaf.leafIndex)?.signatureKey
  const isRenewed = own !== undefined && commit.path !== undefined
  const keys = isRenewed ? [own] : leafKeysOf(judge).filter((one) => own === undefined || equalBytes(own, one))
  const key = keys.find((one) => context && verifyCommitSignature(commit, context, one, judge.verify))
  if (key === undefined) throw unsigned("the commit")
  return { leaf, key }
}

/** The creator of the group: its first leaf, which only the tree contains. */
export function creatorOf(judge: Judge, commit: Commit, { context }: GroupInfo, tree: RatchetTree | undefined): Signer {
  const node = tree?.leaves.get(0)
  if (node === undefined) throw mismatch("the first commit needs the tree")
  // Without a position only the leaf of a key package verifies.
  const isSigned = verifyLeafNode(node, undefined, judge.verify)
  const key = node.signatureKey
  if (!isSigned || !verifyCommitSignature(commit, firstGroupContext(context, node), key, judge.verify)) {
    throw unsigned("the commit")
  }
  return { leaf: { ...ownLeaf(judge, node, context), leafIndex: 0, joinedEpoch: commit.epoch + 1n }, key, node }
}

/** The members after a commit. @throws Refused LIMIT_EXCEEDED, MEMBERSHIP_CHANGE_NOT_ALLOWED */
export function nextRoster(
  { conversation, begins }: Pick<Judge, "conversation" | "begins">,
  committer: Leaf,
  change: MembershipChange,
): readonly Leaf[] {
  const { epoch, maxLeaves } = conversation
  const { renewed } = change
  const roster = rosterAfter(
    begins === null ? conversation.roster : [committer],
    {
      removed: change.removed.map(({ leafIndex }) => leafIndex),
      added: change.added.map(({ deviceId, userId, credentialHash }) => ({ deviceId, userId, credentialHash })),
      committer: renewed && { leafIndex: committer.leafIndex, credentialHash: renewed.credentialHash },
    },
    epoch + 1n,
  )
  const fault = rosterFault(conversation, roster)
  if (fault === "LIMIT_EXCEEDED") throw limitExceeded("leaves_per_conversation", maxLeaves)
  if (fault !== undefined) throw new Refused(fault)
  return roster
}

/** The leaves that the commit contains, by credential hash. */
export function broughtBy({ adds, path }: Commit): ReadonlyMap<string, LeafNode> {
  const leaves = [...adds.map(({ leafNode }) => leafNode), ...(path === undefined ? [] : [path.leafNode])]
  return new Map(leaves.map((leaf) => [toHex(credentialHashOf(leaf)), leaf]))
}

/** Each credential renews a leaf once: a leaf that goes back to a former one is not renewed. */
export function renewsLeaf(
  { conversation, device }: Pick<CallJudge, "conversation" | "device">,
  { renewed }: MembershipChange,
): boolean {
  const own = leafOf(conversation.roster, device.id)
  if (own === undefined || renewed === null) return false
  const isNewest = equalBytes(renewed.credentialHash, device.credentialHash)
  return isNewest && !equalBytes(own.credentialHash, device.credentialHash)
}
