import { equalBytes } from "@signet/canonical/bytes"
import { hash } from "@signet/canonical/hash"
import { type Envelope, Envelope_Kind } from "@signet/proto/messaging/v1/records"
import type { Context, Conversation } from "../context.ts"
import { isUnreachable } from "../conversation/backoff.ts"
import { groupToRead, unknownConversation } from "../conversation/status.ts"
import { isMessagingError, MessagingError } from "../errors.ts"
import type { Incoming } from "../messenger.ts"
import { frameOf, MlsError } from "../mls.ts"
import type { LocalGroup } from "../state/stored-conversation.ts"
import { applyEnvelopes } from "./apply.ts"
import { catchUp } from "./log.ts"

const maxWaiting = 2_000
const maxWaitingBytes = 8 * 1024 * 1024

/** Envelopes that arrived out of order. In memory only, because the log has them. */
interface Queue {
  add(conversationId: string, envelope: Envelope): void
  /** Returns those after a sequence number, ascending, and drops the others. */
  after(conversationId: string, seq: bigint): Envelope[]
}

export function createQueue(): Queue {
  const waiting = new Map<string, Map<bigint, Envelope>>()
  let count = 0
  let bytes = 0
  const drop = (of: Map<bigint, Envelope>, { seq, message }: Envelope) => {
    if (!of.delete(seq)) return
    count--
    bytes -= message.length
  }
  return {
    add(conversationId, envelope) {
      const of = waiting.get(conversationId) ?? new Map<bigint, Envelope>()
      waiting.set(conversationId, of)
      if (of.has(envelope.seq)) return
      // Over the limit, the envelope is dropped and later read from the log.
      if (count >= maxWaiting || bytes + envelope.message.length > maxWaitingBytes) return
      of.set(envelope.seq, envelope)
      count++
      bytes += envelope.message.length
    },
    after(conversationId, seq) {
      const of = waiting.get(conversationId)
      if (of === undefined) return []
      for (const envelope of [...of.values()]) if (envelope.seq <= seq) drop(of, envelope)
      return [...of.values()].sort((a, b) => (a.seq < b.seq ? -1 : 1))
    },
  }
}

/**
 * Processes one envelope from any source.
 *
 * @throws MessagingError ENVELOPE_INVALID: the envelope changed nothing. The log is read instead.
 */
export async function processIncoming(
  context: Context,
  queue: Queue,
  conversationId: string,
  envelope: Envelope,
): Promise<Incoming> {
  if (!(await context.has(conversationId))) throw unknownConversation()
  const conversation = context.conversation(conversationId)
  const groupNow = async () => groupToRead(await conversation.stored())
  const local = await groupNow()
  checkFrame(local, envelope)
  if (envelope.seq <= local.processedSeq) return { is: "replay" }
  queue.add(conversationId, envelope)
  const before = local.processedSeq
  const drain = async (after: bigint) => {
    const waiting = queue.after(conversationId, after)
    return (await applyEnvelopes(conversation, waiting, "caller")).entries
  }
  try {
    const entries = await drain(before)
    const now = await groupAfter(conversation)
    if (now === undefined || now.processedSeq >= envelope.seq) return { is: "processed", entries }
  } catch (error) {
    if (!isMessagingError(error, "ENVELOPE_INVALID")) throw error
    queue.after(conversationId, envelope.seq)
    await catchUpIfReachable(conversation)
    throw error
  }
  const heard = context.recordEntries(conversationId)
  try {
    await catchUpIfReachable(conversation)
  } finally {
    heard.end()
  }
  const now = await groupAfter(conversation)
  queue.after(conversationId, now?.processedSeq ?? envelope.seq)
  if (now !== undefined && now.processedSeq < envelope.seq) return { is: "queued" }
  return { is: "processed", entries: heard.entries }
}

async function groupAfter(conversation: Conversation): Promise<LocalGroup | undefined> {
  return (await conversation.stored()).local
}

/** Checks an envelope before anything is stored or fetched for it. */
function checkFrame({ group }: LocalGroup, { seq, kind, message, contentHash }: Envelope): void {
  const isCommit = kind === Envelope_Kind.COMMIT
  const isWhole = seq > 0n && equalBytes(contentHash, hash(isCommit ? "commit" : "content", message))
  if (!isWhole) throw new MessagingError("ENVELOPE_INVALID", "wrong content hash")
  try {
    const frame = frameOf(message)
    const isOurs = equalBytes(frame.groupId, group.groupId) && (frame.kind === "commit") === isCommit
    if (isOurs) return
  } catch (cause) {
    if (!(cause instanceof MlsError)) throw cause
    throw new MessagingError("ENVELOPE_INVALID", cause.message, { cause })
  }
  throw new MessagingError("ENVELOPE_INVALID", "of another conversation or kind")
}

async function catchUpIfReachable(conversation: Conversation): Promise<void> {
  try {
    await catchUp(conversation)
  } catch (error) {
    if (!isUnreachable(error)) throw error
  }
}
