import { equalBytes } from "@signet/canonical/bytes"
import { checkConversationBinding } from "@signet/canonical/conversation-binding"
import { maxBytes } from "@signet/kernel/messaging/limits"
import { ConversationKind } from "@signet/proto/credential/v1/envelope_aad"
import type { Commit } from "../../../../framing/commit.ts"
import { type GroupInfo, parseGroupContext, parseGroupInfo, verifyGroupInfo } from "../../../../framing/group-info.ts"
import { nextConfirmedTranscriptHash } from "../../../../framing/transcript.ts"
import { readMls } from "../../refusing.ts"
import { expectedOf, type Judge } from "./judge.ts"
import { judging } from "./refusing.ts"
import { mismatch } from "./tree.ts"

/** @throws Refused MLS_*, LIMIT_EXCEEDED */
export const readGroupInfo = (bytes: Uint8Array): GroupInfo =>
  readMls(["group_info_bytes", maxBytes.groupInfo], () => parseGroupInfo(bytes))

/**
 * Verifies that a GroupInfo is of the commit's new epoch, of this group, and signed by the committer.
 *
 * @param signerKey Key of the committer's leaf after the commit.
 * @param proof As in the commit's AAD; empty for none.
 * @throws Refused GROUP_INFO_MISMATCH
 */
export function checkGroupInfo(
  judge: Judge,
  info: GroupInfo,
  commit: Commit,
  signerKey: Uint8Array,
  proof: Uint8Array,
): void {
  const { conversation, verify } = judge
  const { context } = info
  const isNext =
    equalBytes(context.groupId, conversation.mlsGroupId) &&
    context.epoch === commit.epoch + 1n &&
    info.signer === commit.sender &&
    equalBytes(info.confirmationTag, commit.confirmationTag)
  if (!isNext) throw mismatch("the GroupInfo is of another group or epoch")
  if (!equalBytes(info.proof ?? new Uint8Array(), proof)) throw mismatch("the GroupInfo has another proof")
  checkChain(judge, info, commit)
  if (!verifyGroupInfo(info, signerKey, verify)) throw mismatch("the GroupInfo is not signed by the committer")
}

/** Verifies that the epoch follows from the previous one; for a first epoch, that its binding is the conversation's. */
function checkChain(judge: Judge, { context }: GroupInfo, commit: Commit): void {
  const { state, kind } = judge.conversation
  if (state === null || judge.begins !== null) {
    const binding = context.binding ?? new Uint8Array()
    judging(() => checkConversationBinding(binding, { ...expectedOf(judge), kind: ConversationKind[kind] }))
    return
  }
  const before = parseGroupContext(state.groupContext)
  if (!equalBytes(context.extensionsBytes, before.extensionsBytes)) throw mismatch("the group's extensions changed")
  const transcript = nextConfirmedTranscriptHash(state.interimTranscriptHash, commit)
  if (!equalBytes(context.confirmedTranscriptHash, transcript)) throw mismatch("the GroupInfo is of another commit")
}
