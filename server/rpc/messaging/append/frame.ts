import { equalBytes } from "@signet/canonical/bytes"
import { parseEnvelopeAad } from "@signet/canonical/envelope-aad"
import { Refused } from "@signet/kernel/errors"
import { idBytes } from "@signet/kernel/ids"
import type { Conversation } from "@signet/kernel/messaging/records"
import { type EnvelopeAadV1, EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import type { Frame } from "../../../framing/message.ts"
import { judging } from "./refusing.ts"

/**
 * What a message says about itself in the clear: that it is of this conversation's group, and its AAD frame.
 *
 * @throws Refused MLS_WRONG_GROUP, ENVELOPE_INVALID
 */
export function openFrame(
  { id, mlsGroupId }: Conversation,
  { groupId, aad }: Frame,
  kind: "APPLICATION" | "COMMIT",
): EnvelopeAadV1 {
  if (!equalBytes(groupId, mlsGroupId)) throw new Refused("MLS_WRONG_GROUP")
  return judging(() => parseEnvelopeAad(aad, { conversationId: idBytes(id), kind: EnvelopeKind[kind] }))
}
