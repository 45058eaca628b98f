import { equalBytes } from "@signet/canonical/bytes"
import type { ConversationRecord } from "@signet/proto/client/v1/records"
import { ConversationKind, type Welcome } from "@signet/proto/messaging/v1/records"
import { MessagingError } from "../errors.ts"
import type { Member } from "../mls.ts"
import { checkMembers } from "./commit.ts"

type WelcomePosition = Pick<Welcome, "conversationKind" | "commitSeq" | "mlsGroupId">

/** How far this device has read a conversation before a welcome. */
export interface ReadSoFar {
  readonly record: ConversationRecord
  /** Undefined for a device that is no member. */
  readonly processedSeq: bigint | undefined
  /** True if the timeline has an entry after `lastSeqBefore`. */
  readonly hasLaterEntry: boolean
}

/** The highest sequence number that the timeline may have for a welcome to be accepted. */
export const lastSeqBefore = ({ commitSeq }: WelcomePosition, { resetSeq }: ConversationRecord): bigint =>
  // If this device has processed the reset in the log, its timeline has an entry at the commit's own number.
  resetSeq === commitSeq ? commitSeq : commitSeq - 1n

/**
 * Checks that a welcome is for the same group, or for a direct conversation's same two users, and that its commit
 * follows every entry that this device has read.
 *
 * Otherwise a service could replay an old welcome and return this device to an old epoch, whose keys are known to
 * members that were removed since.
 *
 * @throws MessagingError WELCOME_REFUSED; Forked
 */
export function checkWelcomeOrder(
  { conversationKind, commitSeq, mlsGroupId }: WelcomePosition,
  { record, processedSeq, hasLaterEntry }: ReadSoFar,
  members: readonly Member[],
): void {
  const isDirect = conversationKind === ConversationKind.DIRECT
  const isSame = record.isDirect === isDirect && (isDirect || equalBytes(record.mlsGroupId, mlsGroupId))
  if (!isSame) throw refused("the welcome is for another conversation under this id")
  // The log has a reset at that number, and the commit of the reset created one group.
  const isOtherReset = record.resetSeq === commitSeq && !equalBytes(record.mlsGroupId, mlsGroupId)
  if (isOtherReset) throw refused("the welcome is for another group than the reset created")
  checkMembers({ record }, members)
  const newest = processedSeq ?? record.joinedSeq
  if (commitSeq > newest && commitSeq > record.joinedSeq && !hasLaterEntry) return
  throw refused("the log was already read beyond the welcome")
}

function refused(message: string): MessagingError {
  return new MessagingError("WELCOME_REFUSED", message)
}
