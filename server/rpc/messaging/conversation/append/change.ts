// Determines a commit's change of members, and whether its proof permits it.
import { checkEffect } from "@signet/canonical/membership-effect"
import { type MembershipProof, verifyMembershipProof } from "@signet/canonical/membership-proof"
import type { MembershipOp } from "@signet/kernel/messaging/membership"
import type { Leaf } from "@signet/kernel/messaging/records"
import type { NewLeaf } from "@signet/kernel/messaging/roster"
import type { VerifiedCommit } from "@signet/kernel/messaging/verified"
import { MembershipOp as Op } from "@signet/proto/credential/v1/policy_proof"
import type { Commit } from "../../../../framing/commit.ts"
import type { GroupContext } from "../../../../framing/group-info.ts"
import { type KeyPackage, keyPackageRef } from "../../../../framing/key-package.ts"
import { verifyLeafNode } from "../../../../framing/leaf-node.ts"
import { refusedFor } from "../../refusing.ts"
import { deviceOfLeaf, ownLeaf, unsigned } from "./credential.ts"
import { expectedOf, type Judge } from "./judge.ts"
import { judging } from "./refusing.ts"
import { credentialHashOf } from "./tree.ts"

export interface AddedLeaf extends NewLeaf {
  readonly keyPackage: KeyPackage
  readonly keyPackageRef: Uint8Array
}

export interface MembershipChange {
  readonly added: readonly AddedLeaf[]
  readonly removed: readonly Leaf[]
  /** The committer's new credential; null for a commit without a path. */
  readonly renewed: NewLeaf | null
  readonly membership: VerifiedCommit["membership"]
}

/**
 * Verifies the change of a commit: its proof must cover exactly this change, and every credential in it must be valid.
 *
 * @param committer Credential hash of the committer's leaf before the commit.
 * @param proof As in the AAD; empty for none.
 * @throws Refused PROOF_REFUSED, PROOF_STALE, GHOST_MEMBER, CREDENTIAL_REFUSED, MLS_MALFORMED
 */
export function judgeChange(
  judge: Judge,
  commit: Commit,
  committer: Uint8Array,
  proof: Uint8Array,
  group: GroupContext,
): MembershipChange {
  const { conversation, verify } = judge
  const verified = proof.length === 0 ? undefined : openProof(judge, proof)
  const removed = commit.removes.map((index) => leafAt(conversation.roster, index))
  const claimed = commit.adds.map((keyPackage) => ({
    keyPackage,
    keyPackageRef: keyPackageRef(keyPackage),
    credentialHash: credentialHashOf(keyPackage.leafNode),
  }))
  judging(() =>
    checkEffect(verified?.body, {
      added: claimed,
      removed: removed.map(({ credentialHash }) => credentialHash),
      committer,
    }),
  )
  // The first commit creates the group, and only a proof authorizes that.
  if (judge.begins === "create" && verified?.body.op !== Op.CREATE) throw proofMissing()
  // A reset needs a reset proof, and a reset proof permits nothing else.
  if ((judge.begins === "reset") !== (verified?.body.op === Op.RESET)) throw proofMissing()
  const added = claimed.map((one) => ({ ...one, ...deviceOfLeaf(judge, one.keyPackage.leafNode, group) }))
  const { path } = commit
  const place = { groupId: conversation.mlsGroupId, leafIndex: commit.sender }
  if (path !== undefined && !verifyLeafNode(path.leafNode, place, verify)) throw unsigned("the new leaf")
  return {
    added,
    removed,
    renewed: path === undefined ? null : ownLeaf(judge, path.leafNode, group),
    membership: verified === undefined ? null : membershipOf(verified, proof),
  }
}

function openProof(judge: Judge, proof: Uint8Array): MembershipProof {
  const { mlsGroupId, epoch, state } = judge.conversation
  return judging(() =>
    verifyMembershipProof(proof, {
      ...expectedOf(judge),
      mlsGroupId,
      baseEpoch: epoch,
      baseStateTag: state?.stateTag ?? new Uint8Array(),
    }),
  )
}

function leafAt(roster: readonly Leaf[], index: number): Leaf {
  const leaf = roster.find(({ leafIndex }) => leafIndex === index)
  if (leaf === undefined) throw refusedFor("PROOF_REFUSED", "PROOF_SUBJECTS_MISMATCH")
  return leaf
}

const proofMissing = () => refusedFor("PROOF_REFUSED", "PROOF_MISSING")

const membershipOf = ({ body, hash }: MembershipProof, proof: Uint8Array) => ({
  op: opOf(body.op),
  // A proof for a directive names no requester: the holder of the lease commits it.
  isDirected: body.requester.length === 0,
  proof,
  proofHash: hash,
})

function opOf(op: Op): MembershipOp {
  switch (op) {
    case Op.CREATE:
      return "CREATE"
    case Op.ADD:
      return "ADD"
    case Op.REMOVE:
      return "REMOVE"
    case Op.LEAVE:
      return "LEAVE"
    case Op.REJOIN:
      return "REJOIN"
    case Op.RESET:
      return "RESET"
    default:
      throw refusedFor("PROOF_REFUSED", "PROOF_MALFORMED")
  }
}
