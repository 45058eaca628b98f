// The reads of devices: conversations, logs, GroupInfos and trees.
import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import type { ConversationId, DeviceId } from "@signet/kernel/ids"
import { fromHex } from "@signet/kernel/messaging/bytes"
import { maxBytes } from "@signet/kernel/messaging/limits"
import type { MembershipSpan } from "@signet/kernel/messaging/listening"
import { sees } from "@signet/kernel/messaging/membership"
import type { Conversations, SeenConversation } from "@signet/kernel/messaging/ports"
import type { Cursor, Envelope } from "@signet/kernel/messaging/records"
import { leafOf } from "@signet/kernel/messaging/roster"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import type { MessagingDeps } from "../deps.ts"
import { conversationIdOf, isAt, seen, unresolved } from "./seen.ts"

type Reads = Pick<MessagingDeps, "store">

/** The conversation with the calling device's cursor. @throws Refused RESOURCE_UNRESOLVED */
export async function openSeen(
  deps: Reads,
  context: HandlerContext,
  conversationId: string,
): Promise<SeenConversation> {
  const device = deviceOf(context)
  const opened = await deps.store.conversations.findSeen(conversationIdOf(conversationId), device.id)
  if (opened === undefined || !isAt(opened.conversation, device)) throw unresolved()
  if (!sees(opened.conversation, device.userId)) throw unresolved()
  return opened
}

const pageSize = 50
/** Larger than any sequence number, and accepted by every store. */
const farthest = BigInt(Number.MAX_SAFE_INTEGER)

/** The part of a log that one device may read. */
interface ReadLog {
  readonly envelopes: readonly Envelope[]
  /** The log's last sequence number; for a removed device, that of its removal. */
  readonly headSeq: bigint
  readonly isMember: boolean
}

/**
 * Reads the log where the device has or had a leaf: from the commit that added it to the commit that removed it. A
 * device that was removed and added again while offline first reads up to its removal, and so learns of it. Undefined
 * for a device that never was a member.
 *
 * @throws Refused LOG_PRUNED
 */
export async function readLog(
  { store }: Reads,
  id: ConversationId,
  deviceId: DeviceId,
  asked: { readonly afterSeq: bigint; readonly limit: number; readonly maxBytes: number },
): Promise<ReadLog | undefined> {
  const span = await store.conversations.membershipSpan(id, deviceId, asked.afterSeq)
  return span && readSpan(span, asked.afterSeq, (afterSeq) => store.conversations.messages(id, afterSeq, asked))
}

type Messages = Awaited<ReturnType<Conversations["messages"]>>

/** Reads the part of a log that is in the span. @throws Refused LOG_PRUNED */
export async function readSpan(
  { fromSeq, toSeq }: MembershipSpan,
  askedAfterSeq: bigint,
  messages: (afterSeq: bigint) => Promise<Messages>,
): Promise<ReadLog> {
  const afterSeq = max(askedAfterSeq, fromSeq - 1n)
  if (toSeq !== null && afterSeq >= toSeq) return { envelopes: [], headSeq: toSeq, isMember: false }
  const { envelopes, headSeq, firstSeq } = await messages(afterSeq)
  if (afterSeq + 1n < firstSeq) throw new Refused("LOG_PRUNED")
  return {
    envelopes: toSeq === null ? envelopes : envelopes.filter(({ seq }) => seq <= toSeq),
    headSeq: toSeq ?? headSeq,
    isMember: toSeq === null,
  }
}

/** @throws Refused RESOURCE_UNRESOLVED, LOG_PRUNED */
export async function listMessages(
  deps: Reads,
  context: HandlerContext,
  request: { conversationId: string; afterSeq: bigint; limit: number },
): Promise<ReadLog> {
  const device = deviceOf(context)
  const id = conversationIdOf(request.conversationId)
  const conversation = await deps.store.conversations.find(id)
  if (conversation === undefined || !isAt(conversation, device)) throw unresolved()
  const { limit } = request
  const afterSeq = min(request.afterSeq, farthest)
  const asked = { afterSeq, limit: limit || pageSize, maxBytes: maxBytes.page }
  const log = await readLog(deps, id, device.id, asked)
  if (log !== undefined) return log
  if (!sees(conversation, device.userId)) throw unresolved()
  return { envelopes: [], headSeq: conversation.headSeq, isMember: false }
}

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const min = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/** @throws Refused RESOURCE_UNRESOLVED; INVALID_FIELD beyond the end of the log */
export async function ackMessages(
  { store }: Reads,
  context: HandlerContext,
  request: { conversationId: string; processedSeq: bigint; processedEpoch: bigint },
): Promise<Cursor> {
  const { conversation } = await openSeen({ store }, context, request.conversationId)
  const device = deviceOf(context)
  // A device without a leaf has nothing to process, and its cursor would delay pruning.
  if (leafOf(conversation.roster, device.id) === undefined) throw unresolved()
  const { processedSeq, processedEpoch } = request
  if (processedEpoch > conversation.epoch) throw beyond("processed_epoch")
  const cursor = await store.conversations.ack(conversation.id, device.id, { processedSeq, processedEpoch })
  if (cursor === "beyond") throw beyond("processed_seq")
  return cursor
}

const beyond = (field: string): Refused =>
  new Refused("INVALID_FIELD", { message: "the sequence number is beyond the end of the log", metadata: { field } })

/** @throws Refused RESOURCE_UNRESOLVED, NOT_FOUND before the first commit */
export async function groupInfo({ store }: Reads, context: HandlerContext, conversationId: string) {
  const { id } = await seen({ store }, context, conversationId)
  const found = await store.conversations.groupInfo(id)
  if (found === undefined) throw new Refused("NOT_FOUND")
  return found
}

/** A chunk of the tree. Also for a device with a pending Welcome. @throws Refused RESOURCE_UNRESOLVED, NOT_FOUND */
export async function treeChunk(
  { store }: Reads,
  context: HandlerContext,
  request: { conversationId: string; treeHash: string; offset: number },
) {
  const device = deviceOf(context)
  const id = conversationIdOf(request.conversationId)
  const conversation = await store.conversations.find(id)
  if (conversation === undefined || !isAt(conversation, device)) throw unresolved()
  const isSeen = sees(conversation, device.userId) || (await store.welcomes.findPending(device.id, id)) !== undefined
  if (!isSeen) throw unresolved()
  const found = await store.conversations.tree(id, fromHex(request.treeHash), request.offset)
  if (found === undefined) throw new Refused("NOT_FOUND")
  return found
}
