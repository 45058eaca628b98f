import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { type Envelope, Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { isOfOtherGroup } from "../checks/reset.ts"
import { MlsError } from "../mls.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { isReading } from "./status.ts"

/**
 * How an envelope is handled, by its sequence number.
 *
 * `next`: apply it. `skip`: it was applied, or belongs to a group that this device is replacing. `gap`: an earlier
 * envelope is missing. `stop`: this device has no group state, or no longer reads the conversation.
 */
export type EnvelopeAction = "next" | "skip" | "gap" | "stop"

export function actionFor(stored: StoredConversation, envelope: Envelope): EnvelopeAction {
  const { record, local } = stored
  if (local === undefined || !isReading(record)) return "stop"
  if (envelope.seq <= local.processedSeq) return "skip"
  // A device that creates a replacement group skips the messages of the old group.
  if (record?.status === Status.CREATING && envelope.kind !== Envelope_Kind.COMMIT) return "skip"
  const isNext = envelope.seq === local.processedSeq + 1n || isOwnFirstCommit(stored, envelope)
  return isNext ? "next" : "gap"
}

/** True for the commit that this device has staged. */
export const isStagedCommit = ({ staged }: Pick<StoredConversation, "staged">, { kind, message }: Envelope): boolean =>
  staged !== undefined && kind === Envelope_Kind.COMMIT && equalBytes(hash("commit", message), staged.commitHash)

/** True for the first commit of the group that this device creates: no earlier envelope is of that group. */
const isOwnFirstCommit = (stored: StoredConversation, envelope: Envelope): boolean =>
  stored.record?.status === Status.CREATING && isStagedCommit(stored, envelope)

/**
 * True for a commit of another group after a gap: the service has lost envelopes, and the reset has a number beyond them.
 * Its checks decide. Malformed bytes are no commit.
 */
export function isLaterReset({ record, local }: StoredConversation, envelope: Envelope): boolean {
  if (record?.isDirect !== true || local === undefined || envelope.kind !== Envelope_Kind.COMMIT) return false
  try {
    return isOfOtherGroup(local.group, envelope)
  } catch (error) {
    if (!(error instanceof MlsError)) throw error
    return false
  }
}

/** The distance between envelopes of a log that has lost those between them. */
export const lostSeqGap = 2n ** 20n

/**
 * True for the commit by which a device continues that had read what the service has lost: it is at one fixed distance.
 * A device that has read other envelopes than the log has does not find it there, and must rejoin.
 */
export const isAfterLoss = ({ local }: Pick<StoredConversation, "local">, { kind, seq }: Envelope): boolean =>
  local !== undefined && kind === Envelope_Kind.COMMIT && seq === local.processedSeq + lostSeqGap

/**
 * True while the new keys after a reset are not announced yet. If the log showed the reset before the welcome arrived,
 * the reset already has its entry, so the keys are announced at the position of the next envelope.
 */
export const isUnannounced = ({ record, local }: StoredConversation): boolean =>
  local !== undefined && local.processedSeq === record?.resetSeq
