import { toBinary } from "@bufbuild/protobuf"
import type { MessagingConfig, Messenger, MessengerEvent, MessengerOptions } from "@signet/client/messaging"
import { EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import { conversationFrom, entryFrom, errorFrom, eventFrom, toBase64 } from "./crossing.ts"
import type { Handle, NativeMessenger } from "./native-messenger.ts"

export interface ReactNativeOptions extends Pick<MessengerOptions, "whenKeysChange"> {
  readonly messaging: MessagingConfig
  /** A sign-in of the native identity client. */
  readonly session: Handle
}

type Shared =
  | "createDirectConversation"
  | "createGroupConversation"
  | "processIncoming"
  | "addMembers"
  | "removeMembers"
  | "send"
  | "leave"
  | "rejoin"
  | "refreshKeys"
  | "conversations"
  | "timeline"
  | "block"
  | "unblock"
  | "blockedUsers"
  | "devices"
  | "revokeDevice"
  | "startAnew"
  | "sync"
  | "run"
  | "subscribe"
  | "destroyLocalState"
  | "close"

/**
 * The messenger of the other platforms, as far as the contract has it. State, keys and ciphertext stay on the native
 * side.
 */
export interface ReactNativeMessenger extends Pick<Messenger, Shared | "deviceId"> {
  encryptMessage(
    conversationId: string,
    plaintext: Uint8Array,
  ): Promise<{ readonly conversationId: string; readonly outboxId: string; readonly epoch: bigint }>
  /** Sixty digits, equal for both users, who compare them. */
  safetyNumber(userId: string): Promise<string>
}

/** @throws MessagingError, SecretBoxError as the messenger of the other platforms. */
export async function createMessenger(
  native: NativeMessenger,
  { messaging, session, whenKeysChange = "warn" }: ReactNativeOptions,
): Promise<ReactNativeMessenger> {
  const { baseUrl, issuerRootKeys } = messaging
  const opened = await asked(() =>
    native.open({ baseUrl, issuerRootKeys: issuerRootKeys.map(toBase64), session, whenKeysChange }),
  )
  const { handle } = opened
  let { deviceId } = opened
  const listeners = new Set<(event: MessengerEvent) => void>()
  const subscription = native.onEvent((event) => {
    if (event.handle !== handle) return
    const parsed = eventFrom(event)
    for (const listener of [...listeners]) listener(parsed)
  })

  return {
    get deviceId() {
      return deviceId
    },
    createDirectConversation: async (peer) =>
      conversationFrom(await asked(() => native.createDirectConversation(handle, peer))),
    createGroupConversation: async (userIds) =>
      conversationFrom(await asked(() => native.createGroupConversation(handle, userIds))),
    async encryptMessage(conversationId, plaintext) {
      const { outboxId, epoch } = await asked(() => native.encryptMessage(handle, conversationId, toBase64(plaintext)))
      return { conversationId, outboxId, epoch: BigInt(epoch) }
    },
    async processIncoming({ conversationId, envelope }) {
      const bytes = toBase64(toBinary(EnvelopeSchema, envelope))
      const { is, entries } = await asked(() => native.processIncoming(handle, conversationId, bytes))
      if (is === "processed") return { is, entries: entries.map(entryFrom) }
      return { is: is === "replay" ? "replay" : "queued" }
    },
    addMembers: (id, userIds) => asked(() => native.addMembers(handle, id, userIds)),
    removeMembers: (id, userIds) => asked(() => native.removeMembers(handle, id, userIds)),
    async send(conversationId, plaintext) {
      const { outboxId, sent } = await asked(() => native.send(handle, conversationId, toBase64(plaintext)))
      if (sent === undefined) return { state: "queued", conversationId, outboxId, seq: undefined, atMs: undefined }
      return { state: "sent", conversationId, outboxId, seq: BigInt(sent.seq), atMs: sent.atMs }
    },
    leave: (id) => asked(() => native.leave(handle, id)),
    rejoin: (id) => asked(() => native.rejoin(handle, id)),
    refreshKeys: (id) => asked(() => native.refreshKeys(handle, id)),
    conversations: async () => (await asked(() => native.conversations(handle))).map(conversationFrom),
    async timeline(id, { afterSeq, limit = 100 } = {}) {
      return (await asked(() => native.timeline(handle, id, afterSeq?.toString() ?? "", limit))).map(entryFrom)
    },
    block: (userId) => asked(() => native.block(handle, userId)),
    unblock: (userId) => asked(() => native.unblock(handle, userId)),
    blockedUsers: () => asked(() => native.blockedUsers(handle)),
    devices: async () => [...(await asked(() => native.devices(handle)))],
    revokeDevice: (id) => asked(() => native.revokeDevice(handle, id)),
    async startAnew() {
      deviceId = (await asked(() => native.startAnew(handle))).deviceId
    },
    safetyNumber: (userId) => asked(() => native.safetyNumber(handle, userId)),
    sync: () => asked(() => native.sync(handle)),
    async run(signal) {
      const stop = () => void native.stop(handle)
      signal.addEventListener("abort", stop, { once: true })
      try {
        if (!signal.aborted) await asked(() => native.run(handle))
      } finally {
        signal.removeEventListener("abort", stop)
      }
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    destroyLocalState: (confirm) => asked(() => native.destroyLocalState(handle, confirm)),
    async close() {
      subscription.remove()
      await asked(() => native.close(handle))
    },
  }
}

async function asked<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw errorFrom(error)
  }
}
