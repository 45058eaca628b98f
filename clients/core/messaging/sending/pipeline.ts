// Sends messages and commits: appends to the log, and then applies the log.
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import type { AppendMessageRequestSchema } from "@signet/proto/messaging/v1/conversation_service"
import { type Envelope_Kind, EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import type { Conversation } from "../context.ts"
import { MessagingError } from "../errors.ts"
import { applyEnvelopes } from "../receiving/apply.ts"
import { catchUp } from "../receiving/log.ts"
import type { LocalGroup } from "../state/stored-conversation.ts"
import { afterRefusal, type SendItem } from "./after-refusal.ts"

/** An item as it is stored. Every attempt sends these bytes. */
export interface StoredItem {
  readonly kind: Envelope_Kind
  /** The epoch that the service must be in. */
  readonly epoch: bigint
  readonly idempotencyKey: Uint8Array
  /** The MLSMessage. */
  readonly message: Uint8Array
  readonly contentHash: Uint8Array
  readonly payload: NonNullable<MessageInitShape<typeof AppendMessageRequestSchema>["payload"]>
  /** True for the first commit of a group, which is applied at any position of the log. */
  readonly beginsGroup: boolean
}

/**
 * Appends a stored item, and applies the log up to it. The answer only supplies the position: the caller checks that
 * the item was applied.
 */
export async function append(conversation: Conversation, local: LocalGroup, item: StoredItem): Promise<void> {
  const { idempotencyKey, epoch, payload, kind, message, contentHash } = item
  const { seq, acceptedAt, receipt } = await conversation.calls.conversations.appendMessage({
    conversationId: conversation.id,
    idempotencyKey,
    expectedEpoch: epoch,
    payload,
    processedSeq: local.processedSeq,
  })
  if (!item.beginsGroup && seq !== local.processedSeq + 1n) {
    await catchUp(conversation)
    return
  }
  const senderDeviceId = conversation.device.id ?? ""
  const echo = { seq, epoch, kind, message, contentHash, senderDeviceId, receipt }
  const envelope = create(EnvelopeSchema, { ...echo, ...(acceptedAt === undefined ? {} : { acceptedAt }) })
  await applyEnvelopes(conversation, [envelope])
}

/** The error for an item that the service has acknowledged, but its log lacks. The item stays stored. */
export const notInLog = (): MessagingError =>
  new MessagingError("QUEUED", "the service accepted the item, but its log does not have it: the next sync tries again")

/** One attempt. "again" means that another attempt is needed, such as for an item that is ready now. */
type Attempt<Result> = () => Promise<Result | "again">

/**
 * Repeats attempts until one has a result. The retry table decides about refusals.
 *
 * @param itemOf Returns the item of the refused attempt.
 * @throws MessagingError QUEUED, CONFLICT_EXHAUSTED; and refusals that no retry can change
 */
export async function sendUntilDone<Result>(
  conversation: Conversation,
  attempt: Attempt<Result>,
  itemOf: () => SendItem,
): Promise<Result> {
  for (let tries = 1; ; ) {
    try {
      const result = await attempt()
      if (result !== "again") return result
    } catch (error) {
      await afterRefusal(conversation, itemOf(), error, tries)
      tries++
    }
  }
}
