import { timestampMs } from "@bufbuild/protobuf/wkt"
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { Device_Status } from "@signet/proto/messaging/v1/records"
import { cancelUpload, listUploads, openAttachment, sendAttachment } from "./attachments/attachments.ts"
import { groupToSend, statusOf, unknownConversation } from "./conversation/status.ts"
import { listDevices } from "./device/own-devices.ts"
import { revokeDevice } from "./device/revoke-device.ts"
import { startAnew } from "./device/start-anew.ts"
import { advance, readAndReset } from "./joining/first-contact.ts"
import { joinAll } from "./joining/welcomes.ts"
import type { ConversationInfo, Messenger, MessengerOptions } from "./messenger.ts"
import { openContext, type Primitives } from "./open.ts"
import { createQueue, processIncoming } from "./receiving/incoming.ts"
import { changeRecord, requestRejoin } from "./receiving/log.ts"
import { createConversation, isWaitingForKeyPackages, type NewConversation } from "./sending/creation.ts"
import { ask } from "./sending/intents.ts"
import { encryptMessage, sendText } from "./sending/outbox.ts"
import { flushIfActive, listOutbox, queueText } from "./sending/queue.ts"
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
  const { store, rows, device, calls, owner } = context
  const queue = createQueue()
  const closing = new AbortController()

  const infoOf = async (conversationId: string): Promise<ConversationInfo> => {
    const found = describe(conversationId, sketchOf(await context.door(conversationId).held()))
    if (found === undefined) throw unknownConversation()
    return found
  }
  const createOne = async (asked: NewConversation): Promise<ConversationInfo> => {
    const id = await createConversation(context, asked)
    const made = await infoOf(id)
    if (made.status !== "waiting" && made.status !== "stranded") return made
    // Whoever was first has let this device in, or will; or nobody can, and the group is replaced.
    await joinAll(context)
    if (made.waitsFor !== "keyPackages") await context.lane(id, () => readAndReset(context, id))
    await trying(context, id, () => context.lane(id, () => flushIfActive(context, id)))
    return infoOf(id)
  }

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
    createDirectConversation: (peerUserId) => createOne({ peerUserId }),
    createGroupConversation: (userIds) => createOne({ userIds }),
    encryptMessage: (conversationId, plaintext) => encryptMessage(context, conversationId, plaintext),
    processIncoming: ({ conversationId, envelope }) => processIncoming(context, queue, conversationId, envelope),
    addMembers: (conversationId, userIds) =>
      ask(context, conversationId, { case: "add", value: { userIds: [...userIds] } }),
    removeMembers: (conversationId, userIds) =>
      ask(context, conversationId, { case: "remove", value: { userIds: [...userIds] } }),
    async send(conversationId, plaintext) {
      const queued = await queueText(context, conversationId, plaintext)
      if (queued === undefined) return sendText(context, conversationId, plaintext)
      inBackground(context, conversationId, () => advance(context, conversationId))
      return queued
    },
    outbox: (conversationId) => listOutbox(context, conversationId),
    sendAttachment: (conversationId, source, attachment) => sendAttachment(context, conversationId, source, attachment),
    openAttachment: (conversationId, seq) => openAttachment(context, conversationId, seq),
    uploads: (conversationId) => listUploads(context, conversationId),
    cancelUpload: (conversationId, uploadId) => cancelUpload(context, conversationId, uploadId),
    async leave(conversationId) {
      groupToSend(await context.door(conversationId).held())
      const { directive } = await calls.conversations.leaveConversation({ conversationId })
      // Without one there was nobody else, and the conversation is closed.
      const status = directive === undefined ? Status.REMOVED : Status.LEAVING
      await changeRecord(context, conversationId, (record) => ({ ...record, status }))
    },
    async rejoin(conversationId) {
      const { record } = await context.door(conversationId).held()
      if (record === undefined) throw unknownConversation()
      await context.lane(conversationId, () => requestRejoin(context, conversationId))
    },
    refreshKeys: (conversationId) => ask(context, conversationId, { case: "update", value: {} }),
    async conversations() {
      const ids = (await store.spaces()).filter((space) => space !== deviceSpace)
      const found = await Promise.all(ids.map(async (id) => describe(id, await context.door(id).sketch())))
      return found.filter((one) => one !== undefined)
    },
    conversation: async (id) => describe(id, sketchOf(await context.door(id).held())),
    timeline: (conversationId, range) => readTimeline(store, rows, conversationId, range),
    async devices() {
      const found = await listDevices(context, owner.userId)
      return found.map(({ id, status, platform, createdAt }) => ({
        id,
        isThisOne: id === device.id,
        isRevoked: status === Device_Status.REVOKED,
        platform,
        createdAtMs: createdAt === undefined ? 0 : timestampMs(createdAt),
      }))
    },
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
