import { equalBytes } from "@signet/canonical/bytes"
import type { CommitReceipt } from "@signet/canonical/commit-receipt"
import { hash } from "@signet/canonical/hash"
import type { GetGroupInfoResponse } from "@signet/proto/messaging/v1/conversation_service"
import type { Welcome } from "@signet/proto/messaging/v1/records"
import { groupInfoFits, type Joined } from "../mls.ts"
import { Forked } from "./verdict.ts"

/**
 * Checks that the service's GroupInfo is of the joined group. The server compares each GroupInfo only with its
 * predecessor. If the first one had a wrong transcript hash, the server would reject every later commit.
 *
 * @throws Forked GROUP_INFO_DIFFERS
 */
export function checkGroupInfo(
  shown: Pick<GetGroupInfoResponse, "epoch" | "groupInfo">,
  { epoch }: Pick<Welcome, "epoch">,
  { state }: Pick<Joined, "state">,
  receipt: CommitReceipt,
): void {
  // A GroupInfo of a later epoch: its committer was in this epoch and compared. An earlier GroupInfo fails below.
  if (shown.epoch > epoch) return
  const isNamed = equalBytes(hash("group-info", shown.groupInfo), receipt.body.groupInfoHash)
  if (!isNamed || !groupInfoFits(state, shown.groupInfo)) throw new Forked("GROUP_INFO_DIFFERS")
}
