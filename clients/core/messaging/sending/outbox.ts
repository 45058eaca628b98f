import { create } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { buildEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { OutboxRecordSchema } from "@signet/proto/client/v1/records"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { failureOf } from "../../errors.ts"
import { contentOfText, parseContent } from "../content.ts"
import type { Conversation } from "../context.ts"
import { isUnreachable } from "../conversation/backoff.ts"
import { groupToSend } from "../conversation/status.ts"
import { isMessagingError, MessagingError } from "../errors.ts"
import type { MessengerEvent, TimelineEntry } from "../events.ts"
import { bytesOfId } from "../ids.ts"
import { catchUp } from "../receiving/log.ts"
import { refusingAs } from "../refusing.ts"
import type { Door } from "../state/door.ts"
import { type DueChange, dueIn } from "../state/due.ts"
import { ownCredential, type Seat } from "../state/held.ts"
import { readTimeline } from "../state/timeline.ts"
import type { Op } from "../store/store.ts"
import { ensureCompared } from "../verification/noticing.ts"
import { carryOutDue } from "./carry-out.ts"
import { nextId } from "./ordered-id.ts"
import { putWaiting, removeWaiting, type Waiting, waitingHere, waitingIn, withHash } from "./outbox-rows.ts"
import { append, notInLog, type StoredItem, sendUntilDone } from "./pipeline.ts"

/** An own message, encrypted and stored: `send` and `sync` send it, until the log brings it back. */
export interface OutgoingEnvelope {
  readonly conversationId: string
  /** Names the message on this device. */
  readonly outboxId: string
  /** The epoch that it is encrypted in. When that ends first, it is encrypted anew. */
  readonly epoch: bigint
  /** 16 bytes: the same for every attempt. */
  readonly idempotencyKey: Uint8Array
  /** An MLSMessage with a PrivateMessage. */
  readonly message: Uint8Array
}

/** An own message in its place. */
export interface SentMessage {
  readonly state: "sent"
  readonly conversationId: string
  readonly outboxId: string
  readonly seq: bigint
  readonly atMs: number
}

/** Encrypts a message. The turned ratchet and the ciphertext are stored in one, before anybody sees either. */
export async function encryptMessage(conversation: Conversation, plaintext: Uint8Array): Promise<OutgoingEnvelope> {
  return encryptContent(conversation, () => ({ content: contentOfText(plaintext), ops: [] }))
}

/** What a message is to hold, and what else is written with it. */
type MakeContent = (seat: Seat) => { readonly content: Uint8Array; readonly ops: readonly Op[] }

async function encryptContent(conversation: Conversation, make: MakeContent): Promise<OutgoingEnvelope> {
  return conversation.change(async (held) => {
    const seat = groupToSend(held)
    if (conversation.refusesChangedKeys) await ensureCompared(conversation, held.record, seat.group)
    const { content, ops } = make(seat)
    const newest = dueIn(held.record, "outbox").at(-1)
    const { record, group, finish } = await refusingAs("MESSAGE_TOO_LARGE", () =>
      encrypted(conversation, seat, content),
    )
    const id = nextId(newest?.key, conversation.random)
    return {
      next: { ...held, seat: { ...seat, group } },
      ops,
      due: [putWaiting({ id, record })],
      wipe: [finish],
      result: outgoing(conversation.id, { id, record }),
    }
  })
}

async function encrypted(conversation: Conversation, seat: Seat, plaintext: Uint8Array) {
  const aad = buildEnvelopeAad({
    conversationId: bytesOfId("cnv", conversation.id),
    kind: EnvelopeKind.APPLICATION,
    lastReceiptHash: seat.receipt === "first" ? undefined : seat.receipt.hash,
  })
  const { message, next, finish } = await conversation.engine.encrypt(seat.group, plaintext, aad)
  const record = create(OutboxRecordSchema, {
    plaintext,
    epoch: seat.group.epoch,
    message,
    contentHash: hash("content", message),
    idempotencyKey: conversation.random.bytes(16),
    writtenAtMs: BigInt(conversation.clock.nowMs()),
  })
  return { record, group: next, finish }
}

const outgoing = (conversationId: string, { id, record }: Waiting): OutgoingEnvelope => ({
  conversationId,
  outboxId: id,
  epoch: record.epoch,
  idempotencyKey: record.idempotencyKey,
  message: record.message,
})

/**
 * Sends what waits, one after the other in the order of writing, and takes in what the log brings back. Part of a lane.
 *
 * A message whose epoch has ended is encrypted anew: the log was read to the end of that epoch, and it was not there.
 *
 * @param awaited the message that the caller waits for: what it is refused for is thrown, and of others told as an event.
 * @throws MessagingError QUEUED when the service cannot be reached: what waits is sent by the next flush.
 */
export async function flush(conversation: Conversation, awaited?: string): Promise<void> {
  await readOnFirst(conversation)
  let sent: Waiting | undefined

  async function attempt(): Promise<"done" | "again"> {
    sent = undefined
    const held = await conversation.held()
    const [next] = await waitingIn(conversation)
    if (next === undefined) return "done"
    const seat = groupToSend(held)
    if (next.record.epoch !== seat.group.epoch) await encryptAnew(conversation)
    else {
      sent = next
      await append(conversation, seat, itemOf(next))
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
    carryOutDirectives: () => carryOutDue(conversation),
  }))
}

const itemOf = ({ record }: Waiting): StoredItem => ({
  kind: Envelope_Kind.APPLICATION,
  epoch: record.epoch,
  idempotencyKey: record.idempotencyKey,
  message: record.message,
  contentHash: record.contentHash,
  payload: { case: "application", value: record.message },
  beginsGroup: false,
})

/** Conversations whose log was read since this messenger was opened. */
const readOn = new WeakSet<Door>()

/**
 * Before the first message of a messenger, what is here is compared with the log: of state that was put back the keys were
 * used, and nobody would read what is written under them.
 */
async function readOnFirst(conversation: Conversation): Promise<void> {
  if (readOn.has(conversation)) return
  try {
    await catchUp(conversation)
  } catch (error) {
    if (!isUnreachable(error)) throw error
    throw new MessagingError("QUEUED", "the service cannot be reached", { cause: error })
  }
  readOn.add(conversation)
}

/** @throws MessagingError QUEUED, CONVERSATION_NOT_ACTIVE if the log of this epoch does not have the message */
async function checkApplied(conversation: Conversation, { record }: Waiting): Promise<void> {
  if (withHash(await waitingIn(conversation), record.contentHash) === undefined) return
  const { group } = groupToSend(await conversation.held())
  if (group.epoch === record.epoch) throw notInLog()
}

/** An attachment is bound to the credential that its sender's leaf had: under another one nobody would take it. */
function isOutlived(bytes: Uint8Array, { group }: Seat): boolean {
  const content = parseContent(bytes)
  if (content.is !== "attachment") return false
  return !equalBytes(content.manifest.senderCredentialHash, hash("device-credential", ownCredential(group)))
}

/**
 * Encrypts the stored messages of an ended epoch in the current one.
 *
 * The first one decides, inside the transaction. Another tab may have encrypted and sent them since: bytes of the current
 * epoch never change, so that two tabs that send the same message get the same position.
 */
async function encryptAnew(conversation: Conversation): Promise<void> {
  await conversation.change(async (held) => {
    let seat = groupToSend(held)
    const waiting = await waitingHere(conversation, conversation.id, held)
    if (waiting[0]?.record.epoch === seat.group.epoch) return { result: undefined }
    if (conversation.refusesChangedKeys) await ensureCompared(conversation, held.record, seat.group)
    const due: DueChange[] = []
    const wipe: (() => void)[] = []
    const emit: MessengerEvent[] = []
    // All of them, in order: what was written in this epoch already would come after its turn of the ratchet else.
    for (const { id, record } of waiting) {
      if (isOutlived(record.plaintext, seat)) {
        due.push(removeWaiting(id))
        const error = new MessagingError("ATTACHMENT_GONE", "the credential was renewed before it was sent")
        emit.push({ is: "failed", conversationId: conversation.id, error })
        continue
      }
      const again = await encrypted(conversation, seat, record.plaintext)
      again.record.writtenAtMs = record.writtenAtMs
      due.push(putWaiting({ id, record: again.record }))
      wipe.push(again.finish)
      seat = { ...seat, group: again.group }
    }
    return { next: { ...held, seat }, due, wipe, emit, result: undefined }
  })
}

/** Removes a message that the service never accepts, and that blocks the messages after it. */
async function drop(conversation: Conversation, id: string, isAwaited: boolean, error: unknown) {
  await conversation.change(async () => ({ due: [removeWaiting(id)], result: undefined }))
  if (isAwaited) throw error
  conversation.emit({ is: "failed", conversationId: conversation.id, error })
}

/** Sends a message. @returns Its place, once the log has it. */
export function sendText(conversation: Conversation, plaintext: Uint8Array): Promise<SentMessage> {
  return sendContent(conversation, () => ({ content: contentOfText(plaintext), ops: [] }))
}

export async function sendContent(conversation: Conversation, make: MakeContent): Promise<SentMessage> {
  const { outboxId } = await encryptContent(conversation, make)
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

/** What is stored is sent by the next flush that can, or was by another tab: whatever kept this one, it is not refused. */
async function unlessWaiting(conversation: Conversation, outboxId: string, cause: unknown): Promise<undefined> {
  if (isMessagingError(cause, "QUEUED", "CONFLICT_EXHAUSTED")) throw cause
  const isRefusal = isMessagingError(cause) || failureOf(cause) !== undefined
  if (!isRefusal) throw cause
  const isWaiting = (await waitingIn(conversation)).some(({ id }) => id === outboxId)
  if (isWaiting) throw new MessagingError("QUEUED", "stored, and not sent yet", { cause })
  if ((await sentEntry(conversation, outboxId)) === undefined) throw cause
  return undefined
}

/** Another tab has taken the echo in. */
async function findSent(conversation: Conversation, outboxId: string): Promise<TimelineEntry> {
  const found = await sentEntry(conversation, outboxId)
  if (found === undefined) throw new MessagingError("QUEUED", "stored, and not seen in the log yet")
  return found
}

async function sentEntry(conversation: Conversation, outboxId: string): Promise<TimelineEntry | undefined> {
  const { seat } = await conversation.held()
  const afterSeq = (seat?.processedSeq ?? 0n) - 1_000n
  const range = afterSeq > 0n ? { afterSeq, limit: 1_000 } : { limit: 1_000 }
  const entries = await readTimeline(conversation.store, conversation.rows, conversation.id, range)
  return entries.find((entry) => isOwn(entry, outboxId))
}
