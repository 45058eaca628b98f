import { create } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { buildEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { OutboxRecordSchema } from "@signet/proto/client/v1/records"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { failureOf } from "../../errors.ts"
import { contentOfText, originalOf, parseContent } from "../content.ts"
import type { Conversation } from "../context.ts"
import { isUnreachable } from "../conversation/backoff.ts"
import { groupToSend } from "../conversation/status.ts"
import { isMessagingError, MessagingError } from "../errors.ts"
import type { MessengerEvent, TimelineEntry } from "../events.ts"
import { bytesOfId } from "../ids.ts"
import { catchUp } from "../receiving/log.ts"
import { rethrowAs } from "../rethrow.ts"
import type { ConversationState } from "../state/conversation-state.ts"
import { type PendingChange, pendingIn } from "../state/pending-rows.ts"
import { type LocalGroup, ownCredential, type StoredConversation } from "../state/stored-conversation.ts"
import { readTimeline } from "../state/timeline.ts"
import type { Op } from "../store/store.ts"
import { ensureCompared } from "../verification/noticing.ts"
import { carryOutDirectives } from "./directives.ts"
import { nextId } from "./ordered-id.ts"
import { type OutboxItem, outboxIn, putOutboxItem, readOutbox, removeOutboxItem, withHash } from "./outbox-rows.ts"
import { append, notInLog, type StoredItem, sendUntilDone } from "./pipeline.ts"

/** An own message, encrypted and stored. `send` and `sync` send it until it is seen in the log. */
export interface OutgoingEnvelope {
  readonly conversationId: string
  /** The id of the message on this device. */
  readonly outboxId: string
  /** The epoch of its encryption. If that ends first, the message is encrypted again. */
  readonly epoch: bigint
  /** 16 bytes: the same for every attempt. */
  readonly idempotencyKey: Uint8Array
  /** An MLSMessage with a PrivateMessage. */
  readonly message: Uint8Array
}

/** An own message in the log. */
export interface SentMessage {
  readonly state: "sent"
  readonly conversationId: string
  readonly outboxId: string
  readonly seq: bigint
  readonly atMs: number
}

/** Encrypts a message. One transaction stores the advanced ratchet and the ciphertext before the message is sent. */
export async function encryptMessage(conversation: Conversation, plaintext: Uint8Array): Promise<OutgoingEnvelope> {
  return encryptContent(conversation, () => ({ content: contentOfText(plaintext), ops: [] }))
}

/** Returns a message's content, and further writes of the same transaction. */
type MakeContent = (local: LocalGroup) => { readonly content: Uint8Array; readonly ops: readonly Op[] }

async function encryptContent(conversation: Conversation, make: MakeContent): Promise<OutgoingEnvelope> {
  return conversation.change(async (stored) => {
    const before = groupToSend(stored)
    if (conversation.refusesChangedKeys) await ensureCompared(conversation, stored.record, before.group)
    // Earlier messages come first in the ratchet, too. Otherwise this one would be encrypted again after them, and
    // members would report its first generation as missing.
    const { local, due, wipe, emit } = await renewed(conversation, stored, before)
    const { content, ops } = make(local)
    const newest = pendingIn(stored.record, "outbox").at(-1)
    const { record, group, finish } = await rethrowAs("MESSAGE_TOO_LARGE", () =>
      encrypted(conversation, local, content),
    )
    const id = nextId(newest?.key, conversation.random)
    return {
      next: { ...stored, local: { ...local, group } },
      ops,
      due: [...due, putOutboxItem({ id, record })],
      wipe: [...wipe, finish],
      emit,
      result: outgoing(conversation.id, { id, record }),
    }
  })
}

async function encrypted(conversation: Conversation, local: LocalGroup, plaintext: Uint8Array) {
  const aad = buildEnvelopeAad({
    conversationId: bytesOfId("cnv", conversation.id),
    kind: EnvelopeKind.APPLICATION,
    lastReceiptHash: local.receipt === "first" ? undefined : local.receipt.hash,
  })
  const { message, next, finish } = await conversation.engine.encrypt(local.group, plaintext, aad)
  const record = create(OutboxRecordSchema, {
    plaintext,
    epoch: local.group.epoch,
    message,
    contentHash: hash("content", message),
    idempotencyKey: conversation.random.bytes(16),
    writtenAtMs: BigInt(conversation.clock.nowMs()),
  })
  return { record, group: next, finish }
}

const outgoing = (conversationId: string, { id, record }: OutboxItem): OutgoingEnvelope => ({
  conversationId,
  outboxId: id,
  epoch: record.epoch,
  idempotencyKey: record.idempotencyKey,
  message: record.message,
})

/**
 * Sends the queued messages in the order of writing, and processes what the log has of them. Runs in the turn of the
 * conversation.
 *
 * A message whose epoch has ended is encrypted again: the log of that epoch was read completely and does not have it.
 *
 * @param awaited The message that the caller waits for: its refusal is thrown, others are emitted as events.
 * @throws MessagingError QUEUED when the service cannot be reached: the next flush sends the queued messages.
 */
export async function flush(conversation: Conversation, awaited?: string): Promise<void> {
  await readLogOnce(conversation)
  let sent: OutboxItem | undefined

  async function attempt(): Promise<"done" | "again"> {
    sent = undefined
    const stored = await conversation.stored()
    const [next] = await readOutbox(conversation)
    if (next === undefined) return "done"
    const local = groupToSend(stored)
    if (next.record.epoch !== local.group.epoch) await reencrypt(conversation)
    else {
      sent = next
      await append(conversation, local, itemOf(next))
      await checkApplied(conversation, next)
    }
    return "again"
  }
  await sendUntilDone(conversation, attempt, () => ({
    kind: "message",
    drop(error) {
      if (sent === undefined) throw error
      return drop(conversation, sent.id, sent.id === awaited, error)
    },
    carryOutDirectives: () => carryOutDirectives(conversation),
  }))
}

const itemOf = ({ record }: OutboxItem): StoredItem => ({
  kind: Envelope_Kind.APPLICATION,
  epoch: record.epoch,
  idempotencyKey: record.idempotencyKey,
  message: record.message,
  contentHash: record.contentHash,
  payload: { case: "application", value: record.message },
  beginsGroup: false,
})

/** Conversations whose log was read since this messenger was opened. */
const readSinceOpening = new WeakSet<ConversationState>()

/**
 * Compares the state with the log before a messenger's first message. The keys of a restored state were used already,
 * so other members would reject a message under them.
 */
async function readLogOnce(conversation: Conversation): Promise<void> {
  if (readSinceOpening.has(conversation)) return
  try {
    await catchUp(conversation)
  } catch (error) {
    if (!isUnreachable(error)) throw error
    throw new MessagingError("QUEUED", "the service cannot be reached", { cause: error })
  }
  readSinceOpening.add(conversation)
}

/** @throws MessagingError QUEUED, CONVERSATION_NOT_ACTIVE if the log of this epoch does not have the message */
async function checkApplied(conversation: Conversation, { record }: OutboxItem): Promise<void> {
  if (withHash(await readOutbox(conversation), record.contentHash) === undefined) return
  const { group } = groupToSend(await conversation.stored())
  if (group.epoch === record.epoch) throw notInLog()
}

/** True if an attachment is bound to a former credential of this device: recipients would reject its manifest. */
function isOfFormerCredential(bytes: Uint8Array, { group }: LocalGroup): boolean {
  const content = parseContent(originalOf(bytes))
  if (content.is !== "attachment") return false
  return !equalBytes(content.manifest.senderCredentialHash, hash("device-credential", ownCredential(group)))
}

/** Encrypts the stored messages of a previous epoch in the current one. */
async function reencrypt(conversation: Conversation): Promise<void> {
  await conversation.change(async (stored) => {
    const { local, ...changes } = await renewed(conversation, stored, groupToSend(stored))
    return changes.due.length === 0
      ? { result: undefined }
      : { next: { ...stored, local }, ...changes, result: undefined }
  })
}

/**
 * The stored messages of a previous epoch, encrypted in the current one. Inside a change.
 *
 * The change checks the first message again, because another tab may have encrypted and sent them since. Ciphertext of
 * the current epoch never changes, so two tabs that send one message get one position.
 */
async function renewed(conversation: Conversation, stored: StoredConversation, before: LocalGroup) {
  let local = before
  const due: PendingChange[] = []
  const wipe: (() => void)[] = []
  const emit: MessengerEvent[] = []
  const waiting = await outboxIn(conversation, conversation.id, stored)
  if (waiting.length === 0 || waiting[0]?.record.epoch === local.group.epoch) return { local, due, wipe, emit }
  if (conversation.refusesChangedKeys) await ensureCompared(conversation, stored.record, local.group)
  // All of them in order, including messages of this epoch, whose ratchet generations would otherwise precede earlier
  // ones.
  for (const { id, record } of waiting) {
    if (isOfFormerCredential(record.plaintext, local)) {
      due.push(removeOutboxItem(id))
      const error = new MessagingError(
        "ATTACHMENT_GONE",
        "the device credential was renewed before the message was sent",
      )
      emit.push({ is: "failed", conversationId: conversation.id, error })
      continue
    }
    const again = await encrypted(conversation, local, record.plaintext)
    again.record.writtenAtMs = record.writtenAtMs
    due.push(putOutboxItem({ id, record: again.record }))
    wipe.push(again.finish)
    local = { ...local, group: again.group }
  }
  return { local, due, wipe, emit }
}

/** Removes a message that the service will never accept, because it blocks the later ones. */
async function drop(conversation: Conversation, id: string, isAwaited: boolean, error: unknown) {
  await conversation.change(async () => ({ due: [removeOutboxItem(id)], result: undefined }))
  if (isAwaited) throw error
  conversation.emit({ is: "failed", conversationId: conversation.id, error })
}

export async function sendContent(conversation: Conversation, make: MakeContent): Promise<SentMessage> {
  return deliver(conversation, await encryptContent(conversation, make))
}

/** Sends a stored message. @returns Its position, once the log has it. */
export async function deliver(
  conversation: Conversation,
  { outboxId }: Pick<OutgoingEnvelope, "outboxId">,
): Promise<SentMessage> {
  const sent = await conversation
    .hear(
      (event) => event.is === "entry" && isOwn(event.entry, outboxId),
      () => conversation.inTurn(() => flush(conversation, outboxId)),
    )
    .catch((error: unknown) => unlessWaiting(conversation, outboxId, error))
  const entry = sent?.is === "entry" ? sent.entry : await findSent(conversation, outboxId)
  return { state: "sent", conversationId: conversation.id, outboxId, seq: entry.seq, atMs: entry.atMs }
}

const isOwn = (entry: TimelineEntry, outboxId: string): boolean =>
  (entry.is === "message" || entry.is === "attachment") && entry.outboxId === outboxId

/** Maps a failed send to QUEUED while the message is stored: the next flush, or another tab, sends it. */
async function unlessWaiting(conversation: Conversation, outboxId: string, cause: unknown): Promise<undefined> {
  if (isMessagingError(cause, "QUEUED", "CONFLICT_EXHAUSTED")) throw cause
  const isRefusal = isMessagingError(cause) || failureOf(cause) !== undefined
  if (!isRefusal) throw cause
  const isWaiting = (await readOutbox(conversation)).some(({ id }) => id === outboxId)
  if (isWaiting) throw new MessagingError("QUEUED", "stored, and not sent yet", { cause })
  if ((await sentEntry(conversation, outboxId)) === undefined) throw cause
  return undefined
}

/** Finds the entry of a sent message that another tab has processed. */
async function findSent(conversation: Conversation, outboxId: string): Promise<TimelineEntry> {
  const found = await sentEntry(conversation, outboxId)
  if (found !== undefined) return found
  // After a flush nothing waits. The message was dropped if the user has left.
  groupToSend(await conversation.stored())
  throw new MessagingError("QUEUED", "stored, and not in the log yet")
}

async function sentEntry(conversation: Conversation, outboxId: string): Promise<TimelineEntry | undefined> {
  const { local } = await conversation.stored()
  const afterSeq = (local?.processedSeq ?? 0n) - 1_000n
  const range = afterSeq > 0n ? { afterSeq, limit: 1_000 } : { limit: 1_000 }
  const entries = await readTimeline(conversation.store, conversation.rows, conversation.id, range)
  return entries.find((entry) => isOwn(entry, outboxId))
}
