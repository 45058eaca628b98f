import { equalBytes } from "@signet/canonical/bytes"
import { parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { Refused } from "@signet/kernel/errors"
import { idBytes } from "@signet/kernel/ids"
import type { Conversation } from "@signet/kernel/messaging/records"
import { type EnvelopeAadV1, EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import type { Frame } from "../../../../framing/message.ts"
import { refusedFor } from "../../refusing.ts"
import { judging } from "./refusing.ts"

/**
 * Opens the AAD frame of a message. The message must be of this conversation's group, and name the newest receipt of
 * its epoch or none.
 *
 * @throws Refused MLS_WRONG_GROUP, ENVELOPE_INVALID
 */
export function openFrame(
  { id, mlsGroupId, state, epoch }: Conversation,
  { groupId, aad, epoch: framed }: Frame,
  kind: "APPLICATION" | "COMMIT",
): EnvelopeAadV1 {
  if (!equalBytes(groupId, mlsGroupId)) throw new Refused("MLS_WRONG_GROUP")
  const opened = judging(() => parseEnvelopeAad(aad, { conversationId: idBytes(id), kind: EnvelopeKind[kind] }))
  // An epoch has one newest receipt: another one would make members report a fork that did not happen.
  const named = opened.lastReceiptHash
  const isOther = framed === epoch && named.length > 0 && !equalBytes(named, state?.receiptHash ?? new Uint8Array())
  if (isOther) throw refusedFor("ENVELOPE_INVALID", "AAD_WRONG_RECEIPT")
  return opened
}
