import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { type Envelope, Envelope_Kind } from "@signet/proto/messaging/v1/records"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { isReading } from "./status.ts"

/**
 * What to do with an envelope, by its position in the log.
 *
 * `next`: apply it. `skip`: it is applied already, or of a group that this device does not read. `gap`: an envelope before
 * it is missing. `stop`: this device reads no further.
 */
export type Position = "next" | "skip" | "gap" | "stop"

export function positionOf(stored: StoredConversation, envelope: Envelope): Position {
  const { record, local } = stored
  if (local === undefined || !isReading(record)) return "stop"
  if (envelope.seq <= local.processedSeq) return "skip"
  // A device that begins a new group reads no message of the group that it replaces.
  if (record?.status === Status.CREATING && envelope.kind !== Envelope_Kind.COMMIT) return "skip"
  const isNext = envelope.seq === local.processedSeq + 1n || isOwnFirstCommit(stored, envelope)
  return isNext ? "next" : "gap"
}

/** True for the commit that this device has staged. */
export const isStagedCommit = ({ staged }: Pick<StoredConversation, "staged">, { kind, message }: Envelope): boolean =>
  staged !== undefined && kind === Envelope_Kind.COMMIT && equalBytes(hash("commit", message), staged.commitHash)

/** The commit that began our group, wherever the log has it: no envelope before it is of that group. */
const isOwnFirstCommit = (stored: StoredConversation, envelope: Envelope): boolean =>
  stored.record?.status === Status.CREATING && isStagedCommit(stored, envelope)
