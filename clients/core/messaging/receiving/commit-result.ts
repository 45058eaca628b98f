import { create } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import {
  type ConversationRecord,
  ConversationRecordSchema,
  type StagedCommit,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { MembershipOp } from "@signet/proto/credential/v1/policy_proof"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import { checkChange, checkResultingState, type VerifiedCommit, verifyCommit } from "../checks/commit.ts"
import { personOf } from "../checks/credential.ts"
import { isOfOtherGroup } from "../checks/reset.ts"
import { difference } from "../checks/roster.ts"
import { verificationContextOf } from "../checks/verification-context.ts"
import type { Context, Conversation } from "../context.ts"
import { isAway } from "../conversation/status.ts"
import { nowSeconds } from "../deps.ts"
import type { Person, TimelineEntry } from "../events.ts"
import { acceptCommit, type CommitChange, type GroupState, membersOf, stateTag } from "../mls.ts"
import { type LocalGroup, type StoredConversation, treeHashOf } from "../state/stored-conversation.ts"
import { asksConfirmation, resultOfReset } from "./reset.ts"

/** What a commit makes of a conversation. */
export interface CommitResult {
  readonly stored: StoredConversation
  readonly entries: readonly TimelineEntry[]
  /** The intent that it was for, if it is an own one. */
  readonly done: string | undefined
  /** Wipes the epoch that ended, once the next one is stored. */
  readonly wipe: () => void
}

/**
 * Follows the commit at the next place of the log: an own one, or somebody else's.
 *
 * @throws CanonicalError, EngineRefused, Forked for one that is not accepted: nothing has changed then.
 */
export async function resultOfCommit(
  conversation: Conversation,
  { record, staged }: StoredConversation & { record: ConversationRecord | undefined },
  local: LocalGroup,
  envelope: Envelope,
): Promise<CommitResult> {
  if (record === undefined) throw new TypeError("a group has a record")
  const verification = verificationContextOf(conversation, conversation.id, record)
  const isOwn = staged !== undefined && equalBytes(hash("commit", envelope.message), staged.commitHash)
  if (!isOwn && isOfOtherGroup(local.group, envelope)) return resultOfReset(conversation, verification, local, envelope)
  const isOwnReset = isOwn && record.status === Status.CREATING && local.group.epoch > 0n
  const verified = verifyCommit(verification, local, envelope, isOwnReset)
  const at = { seq: envelope.seq, atMs: Number(verified.receipt.body.acceptedAtMs) }
  if (isOwn) return acceptOwn(conversation, record, local, staged, verified, at)

  const members = membersOf(local.group)
  const judged: { by?: unknown; change?: CommitChange } = {}
  const processed = await conversation.engine
    .process(local.group, envelope.message, judge, Number(verified.atSeconds))
    // What the judge found says more than that it refused.
    .catch((error: unknown) => Promise.reject(judged.by ?? error))
  const { change, finish } = processed
  const committer = personOf(change.committer.credential)
  if (processed.kind === "removed") {
    const removed = change.removed.map(({ credential }) => personOf(credential))
    return {
      stored: removedFrom(record),
      entries: [{ ...at, is: "membership", committer, added: [], removed }],
      done: undefined,
      wipe: finish,
    }
  }
  const { next } = processed
  checkResultingState(verified, stateTag(next))
  const entries = membershipEntry(at, committer, local.group, next)
  return {
    stored: { record, local: await seated(local, next, verified), staged: undefined },
    entries,
    done: undefined,
    wipe: finish,
  }

  function judge(found: CommitChange): "accept" | "reject" {
    try {
      checkChange(verification, verified, members, found)
      return "accept"
    } catch (error) {
      judged.by = error
      return "reject"
    }
  }
}

async function acceptOwn(
  context: Context,
  record: ConversationRecord,
  local: LocalGroup,
  staged: StagedCommit,
  verified: VerifiedCommit,
  at: { seq: bigint; atMs: number },
): Promise<CommitResult> {
  const encoded = { epoch: staged.nextTree, secrets: staged.nextState }
  const next = await context.engine.decodeState(encoded, staged.nextIdentityKey)
  checkResultingState(verified, stateTag(next))
  const after = {
    ...(await seated(local, next, verified)),
    identityKey: staged.nextIdentityKey,
    ...(staged.renewsLeaf ? { leafRenewedAt: nowSeconds(context) } : {}),
  }
  const by = personOf(context.device.identity().credential)
  const isReset = verified.proof?.body.op === MembershipOp.RESET
  return {
    stored: {
      record: await activeAfter(context, record, next, isReset ? at.seq : undefined),
      local: after,
      staged: undefined,
    },
    done: staged.intentId,
    entries: isReset ? [{ ...at, is: "reset", by }] : membershipEntry(at, by, local.group, next),
    wipe: () => acceptCommit(local.group, { next }),
  }
}

/** @param resetSeq the place of an own reset. */
async function activeAfter(
  context: Context,
  record: ConversationRecord,
  { groupId: mlsGroupId }: GroupState,
  resetSeq: bigint | undefined,
): Promise<ConversationRecord> {
  const status = record.status === Status.CREATING ? Status.ACTIVE : record.status
  if (resetSeq === undefined) return create(ConversationRecordSchema, { ...record, status })
  const reset = { mlsGroupId, resetSeq, joinedSeq: resetSeq, asksConfirmation: await asksConfirmation(context, record) }
  return create(ConversationRecordSchema, { ...record, status, ...reset })
}

async function seated(local: LocalGroup, group: GroupState, { receipt }: VerifiedCommit): Promise<LocalGroup> {
  return {
    ...local,
    group,
    processedSeq: receipt.body.seq,
    receipt: { hash: receipt.hash, acceptedAtMs: receipt.body.acceptedAtMs },
    treeHash: treeHashOf({ group }),
  }
}

/** The device is out: its state reads nothing that follows, and is not kept. */
function removedFrom(record: ConversationRecord): StoredConversation {
  const status = isAway(record) ? Status.WAITING : Status.REMOVED
  return { record: create(ConversationRecordSchema, { ...record, status }), local: undefined, staged: undefined }
}

function membershipEntry(
  at: { seq: bigint; atMs: number },
  committer: Person,
  before: GroupState,
  after: GroupState,
): TimelineEntry[] {
  const changed = difference(before, after)
  const isChange = changed.added.length + changed.removed.length > 0
  return isChange ? [{ ...at, is: "membership", committer, ...changed }] : []
}
