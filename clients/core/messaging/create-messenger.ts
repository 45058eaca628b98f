import { timestampMs } from "@bufbuild/protobuf/wkt"
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { Device_Status } from "@signet/proto/messaging/v1/records"
import { cancelUpload, listUploads, openAttachment, sendAttachment } from "./attachments/attachments.ts"
import type { Context } from "./context.ts"
import { groupToSend, statusOf, unknownConversation } from "./conversation/status.ts"
import { listDevices } from "./device/own-devices.ts"
import { revokeDevice } from "./device/revoke-device.ts"
import { startAnew } from "./device/start-anew.ts"
import { advance, readAndReset } from "./joining/first-contact.ts"
import { joinAll } from "./joining/welcomes.ts"
import type { ConversationInfo, DeviceInfo, Messenger, MessengerOptions } from "./messenger.ts"
import { openContext, type Primitives } from "./open.ts"
import { createQueue, processIncoming } from "./receiving/incoming.ts"
import { changeRecord, requestRejoin } from "./receiving/log.ts"
import { createConversation, isWaitingForKeyPackages, type NewConversation } from "./sending/creation.ts"
import { ask } from "./sending/intents.ts"
import { encryptMessage, type SentMessage, sendText } from "./sending/outbox.ts"
import { flushIfActive, listOutbox, type QueuedMessage, queueText } from "./sending/queue.ts"
import { type Sketch, sketchOf } from "./state/held.ts"
import { readTimeline } from "./state/timeline.ts"
import { closable } from "./store/closable.ts"
import { deviceSpace } from "./store/store.ts"
import { run } from "./sync/stream.ts"
import { sync } from "./sync/sync.ts"
import { inBackground, trying } from "./sync/trying.ts"
import { verification } from "./verification/verification.ts"

/** Opens the messenger of one device on the primitives of a platform. */
export async function createMessengerWith(options: MessengerOptions, primitives: Primitives): Promise<Messenger> {
  const { context, events, scope } = await openContext({ ...options, store: closable(options.store) }, primitives)
  const { store, rows, device } = context
  const queue = createQueue()
  const closing = new AbortController()

  async function close() {
    closing.abort()
    events.close()
    await store.close()
    await context.forget()
  }

  return {
    get deviceId() {
      return device.id ?? ""
    },
    createDirectConversation: (peerUserId) => createAndJoin(context, { peerUserId }),
    createGroupConversation: (userIds) => createAndJoin(context, { userIds }),
    encryptMessage: (conversationId, plaintext) => encryptMessage(context, conversationId, plaintext),
    processIncoming: ({ conversationId, envelope }) => processIncoming(context, queue, conversationId, envelope),
    addMembers: (conversationId, userIds) =>
      ask(context, conversationId, { case: "add", value: { userIds: [...userIds] } }),
    removeMembers: (conversationId, userIds) =>
      ask(context, conversationId, { case: "remove", value: { userIds: [...userIds] } }),
    send: (conversationId, plaintext) => send(context, conversationId, plaintext),
    outbox: (conversationId) => listOutbox(context, conversationId),
    sendAttachment: (conversationId, source, attachment) => sendAttachment(context, conversationId, source, attachment),
    openAttachment: (conversationId, seq) => openAttachment(context, conversationId, seq),
    uploads: (conversationId) => listUploads(context, conversationId),
    cancelUpload: (conversationId, uploadId) => cancelUpload(context, conversationId, uploadId),
    leave: (conversationId) => leave(context, conversationId),
    async rejoin(conversationId) {
      const { record } = await context.door(conversationId).held()
      if (record === undefined) throw unknownConversation()
      await context.lane(conversationId, () => requestRejoin(context, conversationId))
    },
    refreshKeys: (conversationId) => ask(context, conversationId, { case: "update", value: {} }),
    conversations: () => listConversations(context),
    conversation: async (id) => describe(id, sketchOf(await context.door(id).held())),
    timeline: (conversationId, range) => readTimeline(store, rows, conversationId, range),
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
}

/** Creates a conversation. If another device was first, this one joins, or waits for its welcome. */
async function createAndJoin(context: Context, asked: NewConversation): Promise<ConversationInfo> {
  const id = await createConversation(context, asked)
  const made = await infoOf(context, id)
  if (made.status !== "waiting" && made.status !== "stranded") return made
  await joinAll(context)
  // Without a member that could add this device, a direct conversation is reset.
  if (made.waitsFor !== "keyPackages") await context.lane(id, () => readAndReset(context, id))
  await trying(context, id, () => context.lane(id, () => flushIfActive(context, id)))
  return infoOf(context, id)
}

async function send(
  context: Context,
  conversationId: string,
  plaintext: Uint8Array,
): Promise<SentMessage | QueuedMessage> {
  const queued = await queueText(context, conversationId, plaintext)
  if (queued === undefined) return sendText(context, conversationId, plaintext)
  inBackground(context, conversationId, () => advance(context, conversationId))
  return queued
}

async function leave(context: Context, conversationId: string): Promise<void> {
  groupToSend(await context.door(conversationId).held())
  const { directive } = await context.calls.conversations.leaveConversation({ conversationId })
  // Without a directive there was no other member, and the conversation is closed.
  const status = directive === undefined ? Status.REMOVED : Status.LEAVING
  await changeRecord(context, conversationId, (record) => ({ ...record, status }))
}

async function listConversations({ store, door }: Context): Promise<ConversationInfo[]> {
  const ids = (await store.spaces()).filter((space) => space !== deviceSpace)
  const found = await Promise.all(ids.map(async (id) => describe(id, await door(id).sketch())))
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
async function infoOf({ door }: Context, conversationId: string): Promise<ConversationInfo> {
  const found = describe(conversationId, sketchOf(await door(conversationId).held()))
  if (found === undefined) throw unknownConversation()
  return found
}

function describe(id: string, { record, memberUserIds, processedSeq }: Sketch): ConversationInfo | undefined {
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
    processedSeq,
    quarantine: quarantine && { reason: quarantine.reason, seq: quarantine.seq, evidence: quarantine.envelope },
  }
}
