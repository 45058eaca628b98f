// MessengerService over the messenger of the signed-in user.
import { fromBinary } from "@bufbuild/protobuf"
import type { IncomingEnvelope, Messenger } from "@signet/client/messaging"
import { Incoming, type MessengerService, type OpenRequest } from "@signet/proto/client/v1/messenger_service"
import { EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import type { HistoryProgress } from "../../../core/messaging/history/index.ts"
import { conversationTo, entryTo, verificationTo } from "../convert.ts"
import { ArgumentError } from "../failure.ts"
import { openFile, writeFile } from "../files.ts"
import type { Handlers } from "./handlers.ts"
import type { Stoppable } from "./stoppable.ts"

/** The messenger of the core, of which at most one is open. */
export interface MessengerHolder {
  /** @throws MessagingError CLOSED before `open` and after `close`. */
  readonly messenger: Messenger
  open(request: OpenRequest): Promise<Messenger>
  close(): Promise<void>
  /** The running Run, RunHistory and StoreBackup. */
  readonly following: Stoppable
  readonly transfers: Stoppable
  readonly storing: Stoppable
  onProgress(conversationId: string, path: string, done: number, total: number): void
  onHistoryProgress(progress: HistoryProgress): void
}

const incoming = { processed: Incoming.PROCESSED, replay: Incoming.REPLAY, queued: Incoming.QUEUED } as const
const longestRead = 1024 * 1024
const done = async (work: Promise<unknown>) => {
  await work
  return {}
}

/** What an app does with conversations. */
function conversations(holder: MessengerHolder) {
  return {
    createDirectConversation: async ({ peerUserId }) => ({
      conversation: conversationTo(await holder.messenger.createDirectConversation(peerUserId)),
    }),
    createGroupConversation: async ({ memberUserIds }) => ({
      conversation: conversationTo(await holder.messenger.createGroupConversation(memberUserIds)),
    }),
    async encryptMessage({ conversationId, plaintext }) {
      const sealed = await holder.messenger.encryptMessage(conversationId, plaintext)
      const { outboxId, epoch, message, idempotencyKey } = sealed
      return { outboxId, epoch, message, idempotencyKey }
    },
    async processIncoming({ conversationId, envelope }) {
      const given = { conversationId, envelope: envelopeFrom(envelope) }
      const result = await holder.messenger.processIncoming(given)
      const entries = result.is === "processed" ? result.entries.map(entryTo) : []
      return { incoming: incoming[result.is], entries }
    },
    addMembers: ({ conversationId, userIds }) => done(holder.messenger.addMembers(conversationId, userIds)),
    removeMembers: ({ conversationId, userIds }) => done(holder.messenger.removeMembers(conversationId, userIds)),
    async send({ conversationId, plaintext }) {
      const sent = await holder.messenger.send(conversationId, plaintext)
      const { outboxId } = sent
      if (sent.state === "queued") return { outboxId, queued: true }
      return { outboxId, seq: sent.seq, atMs: BigInt(sent.atMs) }
    },
    async listOutbox({ conversationId }) {
      const found = await holder.messenger.outbox(conversationId)
      const items = found.map(({ outboxId, plaintext, writtenAtMs, state }) => ({
        ...{ outboxId, writtenAtMs: BigInt(writtenAtMs), isSending: state === "sending" },
        ...(plaintext !== undefined && { plaintext }),
      }))
      return { items }
    },
    leave: ({ conversationId }) => done(holder.messenger.leave(conversationId)),
    rejoin: ({ conversationId }) => done(holder.messenger.rejoin(conversationId)),
    refreshKeys: ({ conversationId }) => done(holder.messenger.refreshKeys(conversationId)),
    listConversations: async () => ({ conversations: (await holder.messenger.conversations()).map(conversationTo) }),
    async getConversation({ conversationId }) {
      const found = await holder.messenger.conversation(conversationId)
      return found === undefined ? {} : { conversation: conversationTo(found) }
    },
    async listTimeline({ conversationId, afterSeq, limit }) {
      const range = { ...(afterSeq !== undefined && { afterSeq }), ...(limit > 0 && { limit }) }
      return { entries: (await holder.messenger.timeline(conversationId, range)).map(entryTo) }
    },
  } satisfies Partial<Handlers<(typeof MessengerService)["method"]>>
}

function attachments(holder: MessengerHolder) {
  return {
    async sendAttachment({ conversationId, path, fileName, mediaType, resume }) {
      const sent = await holder.messenger.sendAttachment(conversationId, await openFile(path), {
        ...(fileName !== "" && { fileName }),
        ...(mediaType !== "" && { mediaType }),
        ...(resume !== "" && { resume }),
        onProgress: (bytes, total) => holder.onProgress(conversationId, path, bytes, total),
      })
      return { outboxId: sent.outboxId, seq: sent.seq, atMs: BigInt(sent.atMs) }
    },
    async saveAttachment({ conversationId, seq, path, from }) {
      const attachment = await holder.messenger.openAttachment(conversationId, seq)
      const start = offsetOf("from", from, attachment.size)
      const onProgress = (bytes: number, total: number) => holder.onProgress(conversationId, path, bytes, total)
      const pieces = attachment.stream({ from: start, onProgress })
      return { size: BigInt(await writeFile(path, start, pieces)) }
    },
    async readAttachment({ conversationId, seq, from, to }) {
      const attachment = await holder.messenger.openAttachment(conversationId, seq)
      const [start, end] = [offsetOf("from", from, attachment.size), offsetOf("to", to, attachment.size)]
      if (end < start || end - start > longestRead) {
        throw new ArgumentError("to must be at least from, and at most 1 MiB above it")
      }
      return { bytes: await attachment.read(start, end) }
    },
    async listUploads({ conversationId }) {
      const found = await holder.messenger.uploads(conversationId)
      const uploads = found.map(({ id, fileName, mediaType, size, startedAtMs }) => ({
        ...{ id, fileName, mediaType, size: BigInt(size), startedAtMs: BigInt(startedAtMs) },
      }))
      return { uploads }
    },
    cancelUpload: ({ conversationId, uploadId }) => done(holder.messenger.cancelUpload(conversationId, uploadId)),
  } satisfies Partial<Handlers<(typeof MessengerService)["method"]>>
}

function people(holder: MessengerHolder) {
  return {
    blockUser: ({ userId }) => done(holder.messenger.block(userId)),
    unblockUser: ({ userId }) => done(holder.messenger.unblock(userId)),
    listBlockedUsers: async () => ({ userIds: [...(await holder.messenger.blockedUsers())] }),
    async listDevices() {
      const found = await holder.messenger.devices()
      return { devices: found.map(({ createdAtMs, ...device }) => ({ ...device, createdAtMs: BigInt(createdAtMs) })) }
    },
    revokeDevice: ({ deviceId }) => done(holder.messenger.revokeDevice(deviceId)),
    async startAnew() {
      await holder.messenger.startAnew()
      return { deviceId: holder.messenger.deviceId }
    },
    getVerification: async ({ userId }) => ({
      verification: verificationTo(await holder.messenger.verification.of(userId)),
    }),
    getVerificationStatus: async ({ userId }) => ({ status: await holder.messenger.verification.status(userId) }),
    markVerified: async ({ userId, compared }) => ({
      verification: verificationTo(await holder.messenger.verification.markVerified(userId, compared)),
    }),
    getQrCode: async ({ userId }) => ({ text: await holder.messenger.verification.qrCode(userId) }),
    scanQrCode: async ({ userId, scanned }) => ({
      verification: verificationTo(await holder.messenger.verification.scan(userId, scanned)),
    }),
    getGroupCode: async ({ conversationId }) => ({
      digits: await holder.messenger.verification.groupCode(conversationId),
    }),
  } satisfies Partial<Handlers<(typeof MessengerService)["method"]>>
}

export function messengerHandlers(holder: MessengerHolder): Handlers<(typeof MessengerService)["method"]> {
  return {
    open: async (request) => ({ deviceId: (await holder.open(request)).deviceId }),
    ...conversations(holder),
    ...attachments(holder),
    ...people(holder),
    sync: () => done(holder.messenger.sync()),
    run: () => done(holder.following.run((signal) => holder.messenger.run(signal))),
    async stop() {
      holder.following.stop()
      return {}
    },
    async destroyLocalState({ confirm }) {
      if (confirm !== "destroy everything on this device") {
        throw new ArgumentError("confirm must be `destroy everything on this device`")
      }
      await holder.messenger.destroyLocalState(confirm)
      await holder.close()
      return {}
    },
    close: () => done(holder.close()),
  }
}

function envelopeFrom(bytes: Uint8Array): IncomingEnvelope["envelope"] {
  try {
    return fromBinary(EnvelopeSchema, bytes)
  } catch {
    throw new ArgumentError("envelope is no signet.messaging.v1.Envelope")
  }
}

function offsetOf(field: string, offset: bigint, size: number): number {
  if (offset > BigInt(size)) throw new ArgumentError(`${field} is after the end of the attachment`)
  return Number(offset)
}
