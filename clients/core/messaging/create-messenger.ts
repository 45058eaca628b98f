import { timestampMs } from "@bufbuild/protobuf/wkt"
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { Device_Status } from "@signet/proto/messaging/v1/records"
import { cancelUpload, listUploads, openAttachment, sendAttachment } from "./attachments/attachments.ts"
import { ensureUnblocked, markedEntry } from "./blocking.ts"
import type { Context, Conversation } from "./context.ts"
import { groupToSend, statusOf, unknownConversation } from "./conversation/status.ts"
import { revokeDevice } from "./device/revoke-device.ts"
import { startAnew } from "./device/start-anew.ts"
import { isMessagingError } from "./errors.ts"
import { advance, readAndReset } from "./joining/first-contact.ts"
import { joinAll } from "./joining/welcomes.ts"
import type { ConversationInfo, DeviceInfo, Messenger, MessengerOptions } from "./messenger.ts"
import { openContext, type Primitives } from "./open.ts"
import { rememberContext } from "./opened-messengers.ts"
import { rejoinIfDue } from "./receiving/equivocation.ts"
import { createQueue, processIncoming } from "./receiving/incoming.ts"
import { changeRecord, requestRejoin } from "./receiving/log.ts"
import { createConversation, isWaitingForKeyPackages, type NewConversation } from "./sending/creation.ts"
import { ask } from "./sending/intents.ts"
import { closeHere, followLeave } from "./sending/leaving.ts"
import { deliver, encryptMessage, type OutgoingEnvelope, type SentMessage } from "./sending/outbox.ts"
import { flushIfActive, listOutbox, type QueuedMessage, queueText } from "./sending/queue.ts"
import { type ConversationSummary, summaryOf } from "./state/stored-conversation.ts"
import { readTimeline } from "./state/timeline.ts"
import { closable } from "./store/closable.ts"
import { deviceSpace } from "./store/store.ts"
import { inBackground, trying } from "./sync/background.ts"
import { run } from "./sync/stream.ts"
import { sync } from "./sync/sync.ts"
import { listDevices } from "./verification/device-lists.ts"
import { verification } from "./verification/verification.ts"

/** Opens the messenger of one device with a platform's primitives. */
export async function createMessengerWith(options: MessengerOptions, primitives: Primitives): Promise<Messenger> {
  const { context, events, scope } = await openContext({ ...options, store: closable(options.store) }, primitives)
  const { store, rows, device, blocks, calls } = context
  const queue = createQueue()
  const closing = new AbortController()

  async function close() {
    closing.abort()
    events.close()
    await store.close()
    await context.wipeAll()
  }

  const messenger: Messenger = {
    get deviceId() {
      return device.id ?? ""
    },
    createDirectConversation: (peerUserId) => createAndJoin(context, { peerUserId }),
    createGroupConversation: (userIds) => createAndJoin(context, { userIds }),
    async encryptMessage(conversationId, plaintext) {
      await ensureUnblocked(context.conversation(conversationId))
      return encryptMessage(context.conversation(conversationId), plaintext)
    },
    processIncoming: ({ conversationId, envelope }) => processIncoming(context, queue, conversationId, envelope),
    addMembers: (conversationId, userIds) =>
      ask(context.conversation(conversationId), { case: "add", value: { userIds: [...userIds] } }),
    removeMembers: (conversationId, userIds) =>
      ask(context.conversation(conversationId), { case: "remove", value: { userIds: [...userIds] } }),
    send: (conversationId, plaintext) => send(context.conversation(conversationId), plaintext),
    outbox: (conversationId) => listOutbox(context.conversation(conversationId)),
    async sendAttachment(conversationId, source, attachment) {
      await ensureUnblocked(context.conversation(conversationId))
      return sendAttachment(context.conversation(conversationId), source, attachment)
    },
    openAttachment: (conversationId, seq) => openAttachment(context.conversation(conversationId), seq),
    uploads: (conversationId) => listUploads(context.conversation(conversationId)),
    cancelUpload: (conversationId, uploadId) => cancelUpload(context.conversation(conversationId), uploadId),
    async leave(conversationId) {
      const conversation = context.conversation(conversationId)
      await conversation.inTurn(() => leave(conversation))
    },
    async rejoin(conversationId) {
      const conversation = context.conversation(conversationId)
      const { record } = await conversation.stored()
      if (record === undefined) throw unknownConversation()
      await conversation.inTurn(() => requestRejoin(conversation, "app"))
    },
    refreshKeys: (conversationId) => ask(context.conversation(conversationId), { case: "update", value: {} }),
    conversations: () => listConversations(context),
    conversation: async (id) => describe(context, id, summaryOf(await context.conversation(id).stored())),
    timeline: async (conversationId, range) =>
      (await readTimeline(store, rows, conversationId, range)).map((entry) => markedEntry(blocks, entry)),
    block: async (userId) => blocks.keep((await calls.blocks.blockUser({ userId })).list),
    unblock: async (userId) => blocks.keep((await calls.blocks.unblockUser({ userId })).list),
    blockedUsers: async () => blocks.userIds,
    devices: () => listOwnDevices(context),
    revokeDevice: (deviceId) => revokeDevice(context, deviceId),
    startAnew: () => startAnew(context),
    verification: verification(context),
    sync: () => sync(context),
    run: (signal) => run(context, AbortSignal.any([signal, closing.signal])),
    subscribe: events.subscribe,
    events: events.stream,
    async destroyLocalState(confirm) {
      if (confirm !== "destroy everything on this device") throw new TypeError("not confirmed")
      await options.secretBox.destroy(scope)
      await close()
    },
    close,
  }
  rememberContext(messenger, context)
  return messenger
}

/** Creates a conversation. If another device was first, this one joins, or waits for its welcome. */
async function createAndJoin(context: Context, asked: NewConversation): Promise<ConversationInfo> {
  const conversation = context.conversation(await createConversation(context, asked))
  await trying(context, conversation.id, () => conversation.inTurn(() => rejoinIfDue(conversation)))
  const made = await infoOf(conversation)
  if (made.status !== "waiting" && made.status !== "stranded") return made
  await joinAll(context)
  // A direct conversation is reset if no member can add this device.
  if (made.waitsFor !== "keyPackages") await conversation.inTurn(() => readAndReset(conversation))
  await trying(context, conversation.id, () => conversation.inTurn(() => flushIfActive(conversation)))
  return infoOf(conversation)
}

async function send(conversation: Conversation, plaintext: Uint8Array): Promise<SentMessage | QueuedMessage> {
  await ensureUnblocked(conversation)
  for (let isSecond = false; ; isSecond = true) {
    const queued = await queueText(conversation, plaintext)
    if (queued !== undefined) {
      inBackground(conversation, conversation.id, () => advance(conversation))
      return queued
    }
    let stored: OutgoingEnvelope
    try {
      stored = await encryptMessage(conversation, plaintext)
    } catch (error) {
      // Another tab may have requested a rejoin since: the conversation waits now, and nothing was stored.
      if (isSecond || !isMessagingError(error, "CONVERSATION_NOT_ACTIVE")) throw error
      continue
    }
    return deliver(conversation, stored)
  }
}

async function leave(conversation: Conversation): Promise<void> {
  const { calls, id: conversationId } = conversation
  // Messages that wait are delivered before the leave, if the service accepts them now.
  await trying(conversation, conversationId, () => flushIfActive(conversation))
  const before = await conversation.stored()
  groupToSend(before)
  const { directive } = await calls.conversations.leaveConversation({ conversationId })
  // Without a directive there was no other member, and the conversation is closed.
  if (directive === undefined) return closeHere(conversation)
  await changeRecord(conversation, (record) =>
    record.status === before.record?.status ? { status: Status.LEAVING, askedToLeave: true } : undefined,
  )
  await trying(conversation, conversationId, async () => void (await followLeave(conversation)))
}

async function listConversations(context: Context): Promise<ConversationInfo[]> {
  const ids = (await context.store.spaces()).filter((space) => space !== deviceSpace)
  const found = await Promise.all(
    ids.map(async (id) => describe(context, id, await context.conversation(id).summary())),
  )
  return found.filter((one) => one !== undefined)
}

async function listOwnDevices(context: Context): Promise<DeviceInfo[]> {
  const found = await listDevices(context, context.owner.userId)
  return found.map(({ id, status, platform, createdAt }) => ({
    id,
    isThisOne: id === context.device.id,
    isRevoked: status === Device_Status.REVOKED,
    platform,
    createdAtMs: createdAt === undefined ? 0 : timestampMs(createdAt),
  }))
}

/** @throws MessagingError CONVERSATION_UNKNOWN */
async function infoOf(conversation: Conversation): Promise<ConversationInfo> {
  const found = describe(conversation, conversation.id, summaryOf(await conversation.stored()))
  if (found === undefined) throw unknownConversation()
  return found
}

function describe(
  { blocks }: Pick<Context, "blocks">,
  id: string,
  { record, memberUserIds, processedSeq }: ConversationSummary,
): ConversationInfo | undefined {
  const status = statusOf(record)
  if (record === undefined || status === undefined) return undefined
  const { quarantine } = record
  return {
    id,
    status,
    isDirect: record.isDirect,
    waitsFor: status !== "waiting" ? undefined : isWaitingForKeyPackages(record) ? "keyPackages" : "welcome",
    asksConfirmation: record.asksConfirmation,
    memberUserIds,
    blockedUserIds: blocks.userIds.filter((one) => memberUserIds.includes(one) || record.directUserIds.includes(one)),
    processedSeq,
    quarantine: quarantine && { reason: quarantine.reason, seq: quarantine.seq, evidence: quarantine.envelope },
  }
}
