// Replaces the group of a direct conversation if no member device can add this one. The service authorizes the reset,
// all members see it, and the new group uses no secret of the old one.
import { create } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { decode } from "@signet/canonical/canonical"
import { parseSigned } from "@signet/canonical/signed"
import { ConversationRecordSchema, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { MembershipProofBodyV1Schema } from "@signet/proto/credential/v1/policy_proof"
import type { Authorization } from "@signet/proto/messaging/v1/records"
import { isFailure } from "../../errors.ts"
import { withFreshKeys } from "../checks/with-fresh-keys.ts"
import type { Conversation } from "../context.ts"
import { showAccepted } from "../conversation/accepted.ts"
import { isAway } from "../conversation/status.ts"
import { isMessagingError, MessagingError } from "../errors.ts"
import { bytesOfId } from "../ids.ts"
import { wipeState } from "../mls.ts"
import { changeOf, openDraft, perform } from "../receiving/draft.ts"
import { rethrowAs } from "../rethrow.ts"
import { pendingIn } from "../state/pending-rows.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { findAccepted, stillWaiting } from "./accepted.ts"
import { type Intent, newClaimId, newIntent, putIntent } from "./intent-rows.ts"
import { carryOutIntents } from "./intents.ts"
import { newGroup } from "./new-group.ts"
import { isStaleClaim, stageCommit } from "./staging.ts"

/** True if this device waits for a welcome that a reset could replace. */
const mayReset = ({ record }: Pick<StoredConversation, "record">): boolean =>
  record?.isDirect === true && record.creationId === "" && isAway(record)

/**
 * True if the conversation is needed now, or cannot continue: messages are queued, the app requested it on this device,
 * another device has reset it, it has no members left, or this device cannot process one of its commits. Otherwise a
 * waiting device does not replace the group.
 */
export const isWanted = ({ record }: Pick<StoredConversation, "record">): boolean =>
  mayReset({ record }) &&
  (pendingIn(record, "outbox").length > 0 ||
    record?.status === Status.STRANDED ||
    record?.quarantine !== undefined ||
    record?.joinedSeq === 0n ||
    (record?.resetSeq ?? 0n) > 0n)

/**
 * Replaces the group if, by the service's answer, no online member device can add this one. Runs in the conversation's
 * turn.
 *
 * Otherwise nothing changes: an online member is requested to add this device, or this device waits for the peer's key
 * packages.
 *
 * @throws MessagingError ANSWER_REFUSED; QUEUED if the service cannot be reached
 */
export async function resetIfAllowed(conversation: Conversation): Promise<void> {
  if (!mayReset(await conversation.stored())) return
  const authorization = await authorized(conversation)
  if (authorization === undefined) return
  const found = await findAccepted(conversation)
  const intent = newIntent(conversation, { case: "reset", value: {} })
  const stage = async (stored: StoredConversation) => {
    if (!mayReset(stored)) return { result: false }
    const accepted = await stillWaiting(conversation, stored, found)
    const shown = showAccepted(accepted, { afterSeq: readSeqOf(stored), beforeSeq: undefined })
    const next = await begin(conversation, stored, { authorization, intent, processedSeq: shown.lastSeq })
    if (next === undefined) return { result: false }
    const draft = openDraft(conversation, stored)
    for (const effect of shown.effects) await perform(conversation, draft, effect)
    draft.stored = next
    draft.due.push(putIntent(intent))
    // The messages of the replaced group are never read again.
    draft.wipe.push(() => stored.local && wipeState(stored.local.group))
    return changeOf(conversation, draft, true)
  }
  if (!(await withFreshKeys(conversation, () => conversation.change(stage)))) return
  try {
    await carryOutIntents(conversation, intent.id)
  } catch (error) {
    // Another device's reset was first: this one waits for its welcome.
    if (!isMessagingError(error, "CONVERSATION_NOT_ACTIVE") && !isLost(error)) throw error
  }
}

const isLost = (error: unknown): boolean =>
  isFailure(error, "NOT_MEMBER", "COMMIT_CONFLICT", "PROOF_STALE", "PROOF_REFUSED", "NOTHING_TO_DO")

async function authorized({ calls, random, id: conversationId }: Conversation): Promise<Authorization | undefined> {
  try {
    const { authorization } = await calls.conversations.authorizeMembership({
      conversationId,
      change: { case: "reset", value: { claimId: newClaimId({ random }) } },
    })
    return authorization
  } catch (error) {
    const isToWait = isFailure(
      error,
      "RESET_NOT_NEEDED",
      "NO_KEY_PACKAGE",
      // This device has a leaf: its welcome is pending, or is requested again (lost-welcomes.ts).
      "NOTHING_TO_DO",
      "CONVERSATION_CLOSED",
    )
    if (isToWait) return undefined
    throw error
  }
}

interface Beginning {
  readonly authorization: Authorization
  readonly intent: Intent
  readonly processedSeq: bigint
}

/** The last position that was read. */
const readSeqOf = ({ record, local }: StoredConversation): bigint => {
  const joinedSeq = record?.joinedSeq ?? 0n
  return local !== undefined && local.processedSeq > joinedSeq ? local.processedSeq : joinedSeq
}

/** Creates a group that continues the epoch numbers of the replaced one, and stages the commit that adds the others. */
async function begin(
  conversation: Conversation,
  { record, local: before }: StoredConversation,
  { authorization, intent, processedSeq }: Beginning,
): Promise<StoredConversation | undefined> {
  if (record === undefined) return undefined
  const { mlsGroupId, proof } = authorization
  const isNew =
    mlsGroupId.length === 32 &&
    equalBytes(mlsGroupId.subarray(0, 16), bytesOfId("cnv", conversation.id)) &&
    !equalBytes(mlsGroupId, record.mlsGroupId)
  if (!isNew) throw new MessagingError("ANSWER_REFUSED", "not the id of a new group of this conversation")
  // Decoded without verification: `stageCommit` verifies the proof before its use.
  const { baseEpoch } = await rethrowAs("ANSWER_REFUSED", async () =>
    decode(MembershipProofBodyV1Schema, parseSigned(MembershipProofBodyV1Schema, proof).body),
  )
  const isBehind = before !== undefined && baseEpoch < before.group.epoch
  if (baseEpoch === 0n || isBehind) throw new MessagingError("ANSWER_REFUSED", "a reset of an earlier state")
  const local = await newGroup(conversation, {
    conversationId: conversation.id,
    mlsGroupId,
    isDirect: true,
    epoch: baseEpoch,
    processedSeq,
  })
  // A quarantined conversation is not read, so the own commit would never be applied.
  const { quarantine: _, ...kept } = record
  const creating = create(ConversationRecordSchema, { ...kept, status: Status.CREATING, joinedSeq: processedSeq })
  const stored = { record: creating, local, staged: undefined }
  const users = [conversation.owner.userId, ...record.directUserIds]
  const isAsked = ({ userId }: { userId: string }) => users.includes(userId)
  const plan = { does: "reset", authorization, isAsked } as const
  const staged = await stageCommit(conversation, stored, intent.id, plan).catch((error: unknown) => {
    // The claimed key packages have expired. The next sync claims others.
    if (isStaleClaim(error)) return undefined
    throw error
  })
  return staged === undefined ? undefined : { ...stored, staged }
}
