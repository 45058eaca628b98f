// Own messages that are written while a conversation waits for its group. Their outbox rows are not encrypted yet. The
// flush after the join encrypts them in order, as after the end of an epoch.
import { create } from "@bufbuild/protobuf"
import { OutboxRecordSchema, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { contentOfText, originalOf, parseContent } from "../content.ts"
import type { Conversation } from "../context.ts"
import { isQueueing } from "../conversation/status.ts"
import { MessagingError } from "../errors.ts"
import { maxPlaintextBytes } from "../mls.ts"
import { pendingIn } from "../state/pending-rows.ts"
import { nextId } from "./ordered-id.ts"
import { flush } from "./outbox.ts"
import { putOutboxItem, readOutbox } from "./outbox-rows.ts"

/** An own message that is stored and sent later. */
export interface QueuedMessage {
  readonly state: "queued"
  readonly conversationId: string
  /** The id of the message on this device, also in its `entry`. */
  readonly outboxId: string
  readonly seq: undefined
  readonly atMs: undefined
}

/** An own message that is not in the log yet. */
export interface OutboxEntry {
  readonly outboxId: string
  /** Undefined for an attachment. */
  readonly plaintext: Uint8Array | undefined
  readonly writtenAtMs: number
  /** `sending`: encrypted, and possibly sent. */
  readonly state: "queued" | "sending"
}

const queuedAs = (conversationId: string, outboxId: string): QueuedMessage => ({
  state: "queued",
  conversationId,
  outboxId,
  seq: undefined,
  atMs: undefined,
})

/**
 * Queues a message if the conversation waits for its group. @returns Undefined in any other status.
 *
 * @throws MessagingError MESSAGE_TOO_LARGE
 */
export async function queueText(conversation: Conversation, plaintext: Uint8Array): Promise<QueuedMessage | undefined> {
  const content = contentOfText(plaintext)
  return conversation.change(async (stored) => {
    if (!isQueueing(stored.record)) return { result: undefined }
    if (content.length > maxPlaintextBytes) {
      throw new MessagingError("MESSAGE_TOO_LARGE", "a message has at most 220 KiB")
    }
    const id = nextId(pendingIn(stored.record, "outbox").at(-1)?.key, conversation.random)
    const writtenAtMs = BigInt(conversation.clock.nowMs())
    const record = create(OutboxRecordSchema, { plaintext: content, writtenAtMs })
    return {
      due: [putOutboxItem({ id, record })],
      emit: [{ is: "queued", conversationId: conversation.id, outboxId: id }],
      result: queuedAs(conversation.id, id),
    }
  })
}

/** Sends queued messages if the conversation is active now. Runs in the turn of the conversation. */
export async function flushIfActive(conversation: Conversation): Promise<void> {
  const record = await conversation.record()
  if (record?.status === Status.ACTIVE && pendingIn(record, "outbox").length > 0) await flush(conversation)
}

export async function listOutbox(conversation: Conversation): Promise<OutboxEntry[]> {
  return (await readOutbox(conversation)).map(({ id, record }) => {
    const content = parseContent(originalOf(record.plaintext))
    return {
      outboxId: id,
      plaintext: content.is === "text" ? content.plaintext : undefined,
      writtenAtMs: Number(record.writtenAtMs),
      state: record.message.length === 0 ? "queued" : "sending",
    }
  })
}
