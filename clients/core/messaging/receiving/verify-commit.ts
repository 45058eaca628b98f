import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { MembershipOp } from "@signet/proto/credential/v1/policy_proof"
import { checkChange, checkResultingState, type VerifiedCommit, verifyCommit } from "../checks/commit.ts"
import { personOf } from "../checks/credential.ts"
import { isOfOtherGroup, verifyReset } from "../checks/reset.ts"
import { difference } from "../checks/roster.ts"
import { verificationContextOf } from "../checks/verification-context.ts"
import type { ReadConversation } from "../context.ts"
import type { Arrival, CommitOutcome, EnvelopeEvent } from "../conversation/event.ts"
import { isStagedCommit } from "../conversation/order.ts"
import { groupToRead } from "../conversation/status.ts"
import { nowSeconds } from "../deps.ts"
import { acceptCommit, type CommitChange, type GroupState, membersOf, stateTag, wipeState } from "../mls.ts"
import { type StoredConversation, treeHashOf } from "../state/stored-conversation.ts"
import { asksConfirmation } from "../verification/peer-rows.ts"

/**
 * Verifies the commit at the next position: before the engine runs, with the engine's changes, and by the resulting
 * state. Changes nothing.
 *
 * @throws CanonicalError, MlsError, Forked
 */
export async function verifyArrived(
  conversation: ReadConversation,
  stored: StoredConversation,
  arrival: Arrival,
): Promise<EnvelopeEvent> {
  const { envelope } = arrival
  const local = groupToRead(stored)
  const { record, staged } = stored
  if (record === undefined) throw new TypeError("a group has a record")
  const verification = verificationContextOf(conversation, conversation.id, record)
  const isOwn = isStagedCommit(stored, envelope)
  if (!isOwn && isOfOtherGroup(local.group, envelope)) {
    const { mlsGroupId, receipt } = verifyReset(verification, local, envelope)
    const outcome = { is: "reset", mlsGroupId, asksConfirmation: await asksConfirmation(conversation, record) } as const
    return verified(arrival, receipt, outcome, () => wipeState(local.group))
  }
  const isOwnReset = isOwn && record.status === Status.CREATING && local.group.epoch > 0n
  const commit = verifyCommit(verification, local, envelope, isOwnReset)
  const epoch = (group: GroupState, committer: Uint8Array) => {
    checkResultingState(commit, stateTag(group))
    const view = { group, treeHash: treeHashOf({ group }), committer: personOf(committer) }
    return { is: "epoch", ...view, ...difference(local.group, group) } as const
  }
  if (isOwn && staged !== undefined) {
    const encoded = { epoch: staged.nextTree, secrets: staged.nextState }
    const next = await conversation.engine.decodeState(encoded, staged.nextIdentityKey)
    const isReset = commit.proof?.body.op === MembershipOp.RESET
    const own = {
      isReset,
      asksConfirmation: isReset && (await asksConfirmation(conversation, record)),
      nowSeconds: nowSeconds(conversation),
    }
    const outcome = { ...epoch(next, conversation.device.identity().credential), own }
    return verified(arrival, commit.receipt, outcome, () => acceptCommit(local.group, { next }))
  }

  const members = membersOf(local.group)
  const judged: { by?: unknown } = {}
  const processed = await conversation.engine
    .process(local.group, envelope.message, judge, Number(commit.atSeconds))
    // The reason of the check is more specific than the engine's COMMIT_REJECTED.
    .catch((error: unknown) => Promise.reject(judged.by ?? error))
  const { change, finish } = processed
  const { credential } = change.committer
  if (processed.kind !== "removed") {
    return verified(arrival, commit.receipt, epoch(processed.next, credential), finish)
  }
  const removed = change.removed.map((member) => personOf(member.credential))
  return verified(arrival, commit.receipt, { is: "removed", committer: personOf(credential), removed }, finish)

  function judge(found: CommitChange): "accept" | "reject" {
    try {
      checkChange(verification, commit, members, found)
      return "accept"
    } catch (error) {
      judged.by = error
      return "reject"
    }
  }
}

const verified = (
  arrival: Arrival,
  { hash, body: { acceptedAtMs } }: VerifiedCommit["receipt"],
  outcome: CommitOutcome,
  wipe: () => void,
): EnvelopeEvent => ({ on: "verified", arrival, receipt: { hash, acceptedAtMs }, outcome, wipe })
