// Own messages that were in the log, and that the service has lost since. Another envelope has used their numbers, so
// they cannot return: they are encrypted again, in the epoch that this device joins.
import { create } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import { OutboxRecordSchema, TimelineRecordSchema } from "@signet/proto/client/v1/records"
import { type Envelope, Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { isFailure } from "../../errors.ts"
import type { Random } from "../../ports.ts"
import { contentOfAttachment, contentOfResent, contentOfText } from "../content.ts"
import type { Conversation } from "../context.ts"
import { maxPlaintextBytes } from "../mls.ts"
import { type PendingChange, pendingIn } from "../state/pending-rows.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import { envelopesOf } from "../state/tail.ts"
import { entryOf, keyOfSeq } from "../state/timeline.ts"
import { nextId } from "./ordered-id.ts"
import { putOutboxItem } from "./outbox-rows.ts"

interface LostMessage {
  /** Names the sequence number that the message had, so that its readers do not show it twice. */
  readonly content: Uint8Array
  readonly writtenAtMs: bigint
}

/**
 * Compares the newest own messages with the log, down to one that the log has. The log continues what it has, so nothing
 * before that one is lost.
 */
export async function findLost(conversation: Conversation): Promise<readonly LostMessage[]> {
  const { device, id: space } = conversation
  const { record } = await conversation.stored()
  if (record === undefined || record.tailCount === 0 || device.id === undefined) return []
  const lost: LostMessage[] = []
  for (const envelope of (await envelopesOf(conversation, space, device.id)).toReversed()) {
    if (envelope.kind !== Envelope_Kind.APPLICATION) continue
    if (await isInLog(conversation, envelope)) break
    const message = await lostMessage(conversation, envelope.seq)
    // Above the limit it would block every message after it. The number adds a few bytes to a message of the largest size.
    if (message !== undefined && message.content.length <= maxPlaintextBytes) lost.unshift(message)
  }
  return lost
}

async function isInLog({ calls, id: conversationId }: Conversation, { seq, message }: Envelope): Promise<boolean> {
  try {
    const { envelopes } = await calls.conversations.listMessages({ conversationId, afterSeq: seq - 1n, limit: 1 })
    return envelopes.some((there) => there.seq === seq && equalBytes(there.message, message))
  } catch (error) {
    // An envelope that the service has pruned was read long ago.
    if (isFailure(error, "LOG_PRUNED")) return true
    throw error
  }
}

/** An own message by its entry. Undefined for one that was itself a repetition: it has no entry. */
async function lostMessage({ store, rows, id: space }: Conversation, seq: bigint): Promise<LostMessage | undefined> {
  const key = keyOfSeq(seq)
  const places = [
    { table: "timeline", key },
    { table: "attachment", key },
  ] as const
  const [sealed, sealedManifest] = (await store.read(space, [...places])).values
  if (sealed === undefined) return undefined
  const entry = entryOf(seq, await rows.read({ space, ...places[0] }, TimelineRecordSchema, sealed))
  const writtenAtMs = BigInt(entry.atMs)
  if (entry.is === "message") return { content: contentOfResent(seq, contentOfText(entry.plaintext)), writtenAtMs }
  if (entry.is !== "attachment" || sealedManifest === undefined) return undefined
  const manifest = await rows.read({ space, ...places[1] }, AttachmentManifestSchema, sealedManifest)
  return { content: contentOfResent(seq, contentOfAttachment(manifest)), writtenAtMs }
}

/** The outbox rows that send lost messages again. Inside a change. */
export function resend(
  { random }: { readonly random: Random },
  { record }: StoredConversation,
  lost: readonly LostMessage[],
): readonly PendingChange[] {
  let last = pendingIn(record, "outbox").at(-1)?.key
  return lost.map(({ content: plaintext, writtenAtMs }) => {
    last = nextId(last, random)
    return putOutboxItem({ id: last, record: create(OutboxRecordSchema, { plaintext, writtenAtMs }) })
  })
}
