import { equalBytes } from "@signet/canonical/bytes"
import type { CommitReceipt } from "@signet/canonical/commit-receipt"
import { hash } from "@signet/canonical/hash"
import type { Welcome } from "@signet/proto/messaging/v1/records"
import type { Context } from "../context.ts"
import { groupInfoFits, type Joined } from "../mls.ts"
import { Forked } from "./verdict.ts"

/**
 * Whether the service was shown the group that this device was let into. The server compares each GroupInfo with the one
 * before, so a first one that lies (of the transcript, which the server cannot know) would stop every commit after it.
 *
 * @throws Forked GROUP_INFO_DIFFERS
 */
export async function checkGroupInfo(
  { calls }: Pick<Context, "calls">,
  { conversationId, epoch }: Welcome,
  { state }: Joined,
  receipt: CommitReceipt,
): Promise<void> {
  const shown = await calls.conversations.getGroupInfo({ conversationId })
  // The group has moved on: whoever moved it was in this epoch, and compared. One of before was shown before this one.
  if (shown.epoch > epoch) return
  const isNamed = equalBytes(hash("group-info", shown.groupInfo), receipt.body.groupInfoHash)
  if (!isNamed || !groupInfoFits(state, shown.groupInfo)) throw new Forked("GROUP_INFO_DIFFERS")
}
