import { toBinary } from "@bufbuild/protobuf"
import {
  Incoming as IncomingKind,
  MessengerService,
  type SendAttachmentResponse,
} from "@signet/proto/client/v1/messenger_service"
import { EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import type { AttachmentSource } from "../attachments/source.ts"
import type { AttachmentOptions } from "../attachments/upload.ts"
import { MessagingError } from "../errors.ts"
import { createEvents } from "../events.ts"
import type { MessagingConfig, Messenger, MessengerOptions } from "../messenger.ts"
import type { SentMessage } from "../sending/outbox.ts"
import type { Verification } from "../verification/verification.ts"
import { openRemoteAttachment } from "./attachments.ts"
import { type CoreCalls, callsOf, type RemoteCore } from "./core.ts"
import { toMessengerError } from "./errors.ts"
import type { FileRegistry } from "./files.ts"
import {
  answerRefused,
  conversationOf,
  deviceOf,
  entryOf,
  eventOf,
  outboxEntryOf,
  uploadOf,
  verificationOf,
  verificationStatusOf,
} from "./from-messages.ts"
import { rememberRemote } from "./opened-remotes.ts"
import { createRunning } from "./running.ts"

interface RemoteOptions extends Pick<MessengerOptions, "whenKeysChange"> {
  readonly messaging: MessagingConfig
  /** Audience of the messaging service. Default: the auth service's own. */
  readonly audience?: string
  /** The registry whose names the core's host resolves. */
  readonly files: FileRegistry
  /** Called once the messenger has closed, or has destroyed its data. */
  readonly afterClose?: () => Promise<void>
}

/**
 * Opens the messenger of a remote core. It is used as one in this VM: with the same errors, and the same events.
 *
 * @throws MessagingError, SecretBoxError as the messenger of the platform
 */
export async function openRemoteMessenger(core: RemoteCore, options: RemoteOptions): Promise<Messenger> {
  const { messaging, files, audience = "", whenKeysChange = "warn", afterClose = async () => undefined } = options
  let isClosed = false
  const open = whileOpen(core, () => isClosed)
  const calls = callsOf(open, MessengerService, toMessengerError)
  const events = createEvents()
  /** Listeners of transfers, by the path of their file. */
  const transfers = new Map<string, (done: number, total: number) => void>()
  const unsubscribe = core.subscribe((message) => {
    const event = eventOf(message)
    if (event !== undefined) events.emit(event)
    if (message.event.case !== "progress") return
    const { path, doneBytes, totalBytes } = message.event.value
    transfers.get(path)?.(Number(doneBytes), Number(totalBytes))
  })
  const closeHere = () => {
    isClosed = true
    unsubscribe()
    events.close()
  }
  const opened = await calls
    .open({
      ...{ baseUrl: messaging.baseUrl, audience },
      issuerRootKeys: [...messaging.issuerRootKeys],
      refuseChangedKeys: whenKeysChange === "refuse",
    })
    .catch((error: unknown) => {
      closeHere()
      throw error
    })
  let { deviceId } = opened
  const running = createRunning(calls)

  const messenger: Messenger = {
    get deviceId() {
      return deviceId
    },
    ...conversations(calls),
    ...people(calls),
    sendAttachment: (id, source, given) => sendAttachment({ calls, files, transfers }, id, source, given),
    openAttachment: (id, seq) => openRemoteAttachment(calls, files, id, seq),
    async startAnew() {
      deviceId = (await calls.startAnew({})).deviceId
    },
    verification: verificationOver(calls),
    async sync() {
      await calls.sync({})
    },
    run: (signal) => running.run(signal),
    subscribe: events.subscribe,
    events: events.stream,
    async destroyLocalState(confirm) {
      if (confirm !== "destroy everything on this device") throw new TypeError("not confirmed")
      await calls.destroyLocalState({ confirm })
      closeHere()
      await afterClose()
    },
    async close() {
      if (isClosed) return
      const closing = calls.close({})
      closeHere()
      await closing.finally(afterClose)
    },
  }
  rememberRemote(messenger, { core: open, files })
  return messenger
}

/** After its close, a core is not called. */
const whileOpen = (core: RemoteCore, isClosed: () => boolean): RemoteCore => ({
  ...core,
  async call(method, request) {
    if (isClosed()) throw new MessagingError("CLOSED", "the messenger was closed")
    return core.call(method, request)
  },
})

type Conversations =
  | "createDirectConversation"
  | "createGroupConversation"
  | "encryptMessage"
  | "processIncoming"
  | "addMembers"
  | "removeMembers"
  | "send"
  | "outbox"
  | "uploads"
  | "cancelUpload"
  | "leave"
  | "rejoin"
  | "refreshKeys"
  | "conversations"
  | "conversation"
  | "timeline"

function conversations(calls: CoreCalls): Pick<Messenger, Conversations> {
  return {
    createDirectConversation: async (peerUserId) =>
      conversationOf((await calls.createDirectConversation({ peerUserId })).conversation),
    createGroupConversation: async (userIds) =>
      conversationOf((await calls.createGroupConversation({ memberUserIds: [...userIds] })).conversation),
    async encryptMessage(conversationId, plaintext) {
      const { outboxId, epoch, message, idempotencyKey } = await calls.encryptMessage({ conversationId, plaintext })
      return { conversationId, outboxId, epoch, message, idempotencyKey }
    },
    async processIncoming({ conversationId, envelope }) {
      const bytes = toBinary(EnvelopeSchema, envelope)
      const { incoming, entries } = await calls.processIncoming({ conversationId, envelope: bytes })
      switch (incoming) {
        case IncomingKind.PROCESSED:
          return { is: "processed", entries: entries.map(entryOf) }
        case IncomingKind.REPLAY:
          return { is: "replay" }
        case IncomingKind.QUEUED:
          return { is: "queued" }
        default:
          throw answerRefused()
      }
    },
    async addMembers(conversationId, userIds) {
      await calls.addMembers({ conversationId, userIds: [...userIds] })
    },
    async removeMembers(conversationId, userIds) {
      await calls.removeMembers({ conversationId, userIds: [...userIds] })
    },
    async send(conversationId, plaintext) {
      const { outboxId, queued, seq, atMs } = await calls.send({ conversationId, plaintext })
      if (queued) return { state: "queued", conversationId, outboxId, seq: undefined, atMs: undefined }
      return { state: "sent", conversationId, outboxId, seq, atMs: Number(atMs) }
    },
    outbox: async (conversationId) => (await calls.listOutbox({ conversationId })).items.map(outboxEntryOf),
    uploads: async (conversationId) => (await calls.listUploads({ conversationId })).uploads.map(uploadOf),
    async cancelUpload(conversationId, uploadId) {
      await calls.cancelUpload({ conversationId, uploadId })
    },
    async leave(conversationId) {
      await calls.leave({ conversationId })
    },
    async rejoin(conversationId) {
      await calls.rejoin({ conversationId })
    },
    async refreshKeys(conversationId) {
      await calls.refreshKeys({ conversationId })
    },
    conversations: async () => (await calls.listConversations({})).conversations.map(conversationOf),
    async conversation(conversationId) {
      const { conversation } = await calls.getConversation({ conversationId })
      return conversation && conversationOf(conversation)
    },
    async timeline(conversationId, { afterSeq, limit = 100 } = {}) {
      // Zero stands for the default in the contract.
      if (limit === 0) return []
      const after = afterSeq === undefined ? {} : { afterSeq }
      return (await calls.listTimeline({ conversationId, ...after, limit })).entries.map(entryOf)
    },
  }
}

type People = "block" | "unblock" | "blockedUsers" | "devices" | "revokeDevice"

function people(calls: CoreCalls): Pick<Messenger, People> {
  return {
    async block(userId) {
      await calls.blockUser({ userId })
    },
    async unblock(userId) {
      await calls.unblockUser({ userId })
    },
    blockedUsers: async () => (await calls.listBlockedUsers({})).userIds,
    devices: async () => (await calls.listDevices({})).devices.map(deviceOf),
    async revokeDevice(deviceId) {
      await calls.revokeDevice({ deviceId })
    },
  }
}

function verificationOver(calls: CoreCalls): Verification {
  return {
    status: async (userId) => verificationStatusOf((await calls.getVerificationStatus({ userId })).status),
    of: async (userId) => verificationOf((await calls.getVerification({ userId })).verification),
    markVerified: async (userId, compared) =>
      verificationOf((await calls.markVerified({ userId, compared })).verification),
    qrCode: async (userId) => (await calls.getQrCode({ userId })).text,
    scan: async (userId, scanned) => verificationOf((await calls.scanQrCode({ userId, scanned })).verification),
    groupCode: async (conversationId) => (await calls.getGroupCode({ conversationId })).digits,
  }
}

interface Transfer {
  readonly calls: CoreCalls
  readonly files: FileRegistry
  readonly transfers: Map<string, (done: number, total: number) => void>
}

async function sendAttachment(
  { calls, files, transfers }: Transfer,
  conversationId: string,
  source: AttachmentSource,
  { mediaType = "", fileName = "", resume = "", onProgress, signal }: AttachmentOptions = {},
): Promise<SentMessage> {
  signal?.throwIfAborted()
  const { path, withdraw } = files.offer(source)
  if (onProgress !== undefined) transfers.set(path, onProgress)
  // The core reads the next part in vain, and keeps the parts before it.
  signal?.addEventListener("abort", withdraw, { once: true })
  try {
    const sent: SendAttachmentResponse = await calls
      .sendAttachment({ conversationId, path, mediaType, fileName, resume })
      .catch((error: unknown) => {
        signal?.throwIfAborted()
        throw error
      })
    const { outboxId, seq, atMs } = sent
    return { state: "sent", conversationId, outboxId, seq, atMs: Number(atMs) }
  } finally {
    signal?.removeEventListener("abort", withdraw)
    transfers.delete(path)
    withdraw()
  }
}
