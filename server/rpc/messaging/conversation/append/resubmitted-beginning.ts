// Verifies the first commit of a group that the service accepted before, and has lost since. The commit does not contain
// its sender's leaf, so its GroupInfo and tree are returned, too. The receipt names both.
import { equalBytes } from "@signet/canonical/bytes"
import { decode } from "@signet/canonical/canonical"
import { hash, stateTagOf } from "@signet/canonical/hash"
import { type ConversationId, idBytes } from "@signet/kernel/ids"
import type { Conversation, MessagingDevice } from "@signet/kernel/messaging/records"
import { ConversationBindingV1Schema, ConversationKind } from "@signet/proto/credential/v1/envelope_aad"
import type { Envelope_Beginning } from "@signet/proto/messaging/v1/records"
import type { Commit } from "../../../../framing/commit.ts"
import { interimTranscriptHash } from "../../../../framing/transcript.ts"
import { judgeChange } from "./change.ts"
import { deviceOfLeaf } from "./credential.ts"
import { checkGroupInfo, readGroupInfo } from "./group-info.ts"
import type { Judge } from "./judge.ts"
import { judging } from "./refusing.ts"
import { type Known, type ResubmittedCommit, type Returned, verifyReturnedReceipt } from "./resubmitted-commit.ts"
import { checkTree, mismatch, readTree } from "./tree.ts"
import { broughtBy, creatorOf, nextRoster, type OpenedCommit } from "./verify-commit.ts"

/**
 * @param known For a reset, `conversation` is the one that the new group's first commit sees.
 * @throws Refused ENVELOPE_INVALID, GROUP_INFO_MISMATCH; and what AppendMessage refuses in a first commit.
 */
export function verifyBeginning(
  known: Omit<Known, "tree">,
  { commit, aad }: OpenedCommit,
  returned: Returned,
  { groupInfo, tree }: Envelope_Beginning,
): ResubmittedCommit {
  const { conversation } = known
  const proof = aad.membershipProof
  const { body, hash: receiptHash } = verifyReturnedReceipt(known, { commit, aad }, returned)
  const groupInfoHash = hash("group-info", groupInfo)
  const treeHash = hash("tree-blob", tree)
  const isNamed = equalBytes(body.groupInfoHash, groupInfoHash) && equalBytes(body.treeBlobHash, treeHash)
  if (!isNamed) throw mismatch("the receipt names another GroupInfo or tree")
  const info = readGroupInfo(groupInfo)
  const leaves = readTree(tree)
  const node = leaves.leaves.get(0)
  if (node === undefined) throw mismatch("the tree has no creator")
  const acceptedAtMs = Number(body.acceptedAtMs)
  const begins = conversation.state === null ? "create" : "reset"
  const unknown: Omit<Judge, "device"> = { ...known, begins, tree: undefined, nowMs: acceptedAtMs }
  const { deviceId: id, userId } = deviceOfLeaf(unknown, node, info.context)
  const judge: Judge = { ...unknown, device: { id, userId } }
  const { leaf, key } = creatorOf(judge, commit, info, leaves)
  const change = judgeChange(judge, commit, leaf.credentialHash, proof, info.context)
  const roster = nextRoster(judge, leaf, change)
  checkGroupInfo(judge, info, commit, commit.path?.leafNode.signatureKey ?? key, proof)
  checkTree(leaves, info.context.treeHash, roster, broughtBy(commit))
  return {
    receipt: { bytes: returned.receipt, hash: receiptHash },
    acceptedAtMs,
    committer: judge.device,
    judged: {
      added: change.added,
      removed: change.removed,
      verified: {
        resetGroupId: begins === "reset" ? conversation.mlsGroupId : null,
        membership: change.membership,
        renewsLeaf: false,
        roster,
        groupInfo: { bytes: groupInfo, hash: groupInfoHash },
        tree: { bytes: tree, hash: treeHash },
        state: {
          stateTag: stateTagOf(commit.confirmationTag),
          groupContext: info.context.bytes,
          interimTranscriptHash: interimTranscriptHash(info.context.confirmedTranscriptHash, commit.confirmationTag),
          treeHash,
        },
        welcomes: [],
      },
    },
  }
}

/**
 * The conversation that a first commit began, by what the commit leads to. Nothing is verified here: `verifyBeginning`
 * verifies the result.
 */
export function conversationOfBeginning(
  id: ConversationId,
  device: MessagingDevice,
  commit: Commit,
  {
    known,
    beginning: { groupInfo, tree },
    maxLeaves,
  }: {
    readonly known: Omit<Known, "tree" | "conversation">
    readonly beginning: Envelope_Beginning
    readonly maxLeaves: number
  },
): Conversation {
  const { context } = readGroupInfo(groupInfo)
  const { kind } = judging(() => decode(ConversationBindingV1Schema, context.binding ?? new Uint8Array()))
  const { groupId: mlsGroupId } = commit
  const isOfIt = mlsGroupId.length === 32 && equalBytes(mlsGroupId.subarray(0, 16), idBytes(id))
  if (!isOfIt) throw mismatch("the group is of another conversation")
  const { nowMs } = known
  const begun: Conversation = {
    id,
    appId: device.appId,
    tenantId: device.tenantId,
    mlsGroupId,
    kind: kind === ConversationKind.DIRECT ? "DIRECT" : "GROUP",
    status: "ACTIVE",
    creatorUserId: device.userId,
    userIds: [],
    epoch: 0n,
    headSeq: 0n,
    firstSeq: 1n,
    headAtMs: 0,
    state: null,
    roster: [],
    directives: [],
    forkReports: [],
    maxLeaves,
    createdAtMs: nowMs,
  }
  const judge = { ...known, conversation: begun, begins: "create", tree: undefined } as const
  const users = [...readTree(tree).leaves].map(([, leaf]) => deviceOfLeaf(judge, leaf, context).userId)
  const [creatorUserId = device.userId] = users
  return { ...begun, creatorUserId, userIds: [...new Set(users)] }
}
