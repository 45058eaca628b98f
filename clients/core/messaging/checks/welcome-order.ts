import { equalBytes } from "@signet/canonical/bytes"
import { ConversationKind, type Welcome } from "@signet/proto/messaging/v1/records"
import type { Storage } from "../deps.ts"
import { MessagingError } from "../errors.ts"
import type { Joined } from "../mls.ts"
import type { Held } from "../state/held.ts"
import { keyOfSeq } from "../state/timeline.ts"
import { checkMembers } from "./commit.ts"

/**
 * Whether a welcome leads on from what is here: to the same group, between the same two users where it is for two, and to
 * a place that is beyond everything that was read. One that was kept back leads to an epoch whose keys those still have
 * who were removed since. A direct conversation may go on in another group, which is then an entry of its timeline.
 *
 * @throws MessagingError WELCOME_REFUSED; Forked
 */
export async function checkOnward(
  { store }: Pick<Storage, "store">,
  { conversationId, conversationKind, commitSeq, mlsGroupId }: Welcome,
  { record, seat }: Held,
  { members }: Pick<Joined, "members">,
): Promise<void> {
  if (record === undefined) return
  const isDirect = conversationKind === ConversationKind.DIRECT
  const isSame = record.isDirect === isDirect && (isDirect || equalBytes(record.mlsGroupId, mlsGroupId))
  if (!isSame) throw new MessagingError("WELCOME_REFUSED", "a welcome to another conversation by the same name")
  // The log showed the reset of that place, and its commit began one group.
  const isOtherReset = record.resetSeq === commitSeq && !equalBytes(record.mlsGroupId, mlsGroupId)
  if (isOtherReset) throw new MessagingError("WELCOME_REFUSED", "a welcome to another group than the log's reset began")
  checkMembers({ record }, members)
  // Of a reset that the log told already, its own entry is there.
  const after = record.resetSeq === commitSeq ? commitSeq : commitSeq - 1n
  const [later] = await store.list(conversationId, "timeline", { after: keyOfSeq(after), limit: 1 })
  const newest = seat?.processedSeq ?? record.joinedSeq
  if (commitSeq > newest && commitSeq > record.joinedSeq && later === undefined) return
  throw new MessagingError("WELCOME_REFUSED", "a welcome to a place that was left behind")
}
