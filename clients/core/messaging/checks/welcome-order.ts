import { equalBytes } from "@signet/canonical/bytes"
import type { ConversationRecord } from "@signet/proto/client/v1/records"
import { ConversationKind, type Welcome } from "@signet/proto/messaging/v1/records"
import { MessagingError } from "../errors.ts"
import type { Member } from "../mls.ts"
import { checkMembers } from "./commit.ts"

type Order = Pick<Welcome, "conversationKind" | "commitSeq" | "mlsGroupId">

/** What this device has read of a conversation before a welcome. */
export interface ReadSoFar {
  readonly record: ConversationRecord
  /** Undefined for a device that is not in the group. */
  readonly processedSeq: bigint | undefined
  /** True if the timeline has an entry after `lastSeqBefore`. */
  readonly hasLaterEntry: boolean
}

/** The last position that the timeline may have for a welcome to be accepted. */
export const lastSeqBefore = ({ commitSeq }: Order, { resetSeq }: ConversationRecord): bigint =>
  // A reset that the log has shown already has an entry at the position of its commit.
  resetSeq === commitSeq ? commitSeq : commitSeq - 1n

/**
 * Checks that a welcome leads on from what this device has: to the same group, in a direct conversation to the same two
 * users, and to a position beyond everything that was read. A withheld welcome leads to an epoch whose keys the members
 * that were removed since still have. A direct conversation may continue in another group.
 *
 * @throws MessagingError WELCOME_REFUSED; Forked
 */
export function checkWelcomeOrder(
  { conversationKind, commitSeq, mlsGroupId }: Order,
  { record, processedSeq, hasLaterEntry }: ReadSoFar,
  members: readonly Member[],
): void {
  const isDirect = conversationKind === ConversationKind.DIRECT
  const isSame = record.isDirect === isDirect && (isDirect || equalBytes(record.mlsGroupId, mlsGroupId))
  if (!isSame) throw refused("the welcome is to another conversation under the same id")
  // The log showed the reset of that position, and its commit began one group.
  const isOtherReset = record.resetSeq === commitSeq && !equalBytes(record.mlsGroupId, mlsGroupId)
  if (isOtherReset) throw refused("the welcome is to another group than the reset in the log began")
  checkMembers({ record }, members)
  const newest = processedSeq ?? record.joinedSeq
  if (commitSeq > newest && commitSeq > record.joinedSeq && !hasLaterEntry) return
  throw refused("the welcome is to a position that was read already")
}

function refused(message: string): MessagingError {
  return new MessagingError("WELCOME_REFUSED", message)
}
