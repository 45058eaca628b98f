import type { Transport } from "@connectrpc/connect"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import type { Clock, Random } from "../ports.ts"
import type { SecretBox } from "../secret-box.ts"
import type { OpenedAttachment } from "./attachments/reading.ts"
import type { AttachmentSource } from "./attachments/source.ts"
import type { AttachmentOptions, UploadInfo } from "./attachments/upload.ts"
import type { ConversationStatus, MessengerEvent, TimelineEntry } from "./events.ts"
import type { OutgoingEnvelope, SentMessage } from "./sending/outbox.ts"
import type { OutboxEntry, QueuedMessage } from "./sending/queue.ts"
import type { MessagingSession } from "./session.ts"
import type { Range } from "./state/timeline.ts"
import type { MessagingStore } from "./store/store.ts"
import type { Verification } from "./verification/verification.ts"

/** The address of the messaging service, and the keys that it is verified with. */
export interface MessagingConfig {
  /** An https URL, or http for a loopback address; without a slash at the end. */
  readonly baseUrl: string
  /** The issuer's root public keys, 32 bytes each: built into the app, never fetched from a server. */
  readonly issuerRootKeys: readonly Uint8Array[]
}

export interface MessengerOptions {
  readonly messaging: MessagingConfig
  readonly session: MessagingSession
  /** A transport to `messaging.baseUrl` without credentials: the messenger adds them. */
  readonly transport: Transport
  readonly store: MessagingStore
  readonly secretBox: SecretBox
  readonly clock: Clock
  readonly random: Random
  /**
   * How to send to a user whose keys differ from the compared ones. "warn" sends and emits an event. "refuse" throws
   * KEYS_CHANGED until they are compared again. Default: "warn".
   */
  readonly whenKeysChange?: "warn" | "refuse"
  /** The platform that the user's list of devices shows: [a-z0-9._:/-]. */
  readonly platform: string
}

/**
 * An envelope of the log, from ListMessages, the stream, or another channel that the app trusts as much as the service.
 * Only the service asserts the sequence number of a message.
 */
export interface IncomingEnvelope {
  readonly conversationId: string
  readonly envelope: Envelope
}

/** The result of processing an envelope. */
export type Incoming =
  /** The envelope, and others that waited for it, were applied. */
  | { readonly is: "processed"; readonly entries: readonly TimelineEntry[] }
  /** The envelope was applied before. Nothing changed. */
  | { readonly is: "replay" }
  /** An earlier envelope is missing. This one is applied after it. */
  | { readonly is: "queued" }

export interface ConversationInfo {
  readonly id: string
  readonly status: ConversationStatus
  readonly isDirect: boolean
  /**
   * The cause of the status `waiting`: `keyPackages` if no device of the other users can be added yet; `welcome` if
   * another member must add this device. Undefined in every other status.
   */
  readonly waitsFor: "keyPackages" | "welcome" | undefined
  /**
   * True if the group was replaced after a verified peer's keys were compared: ask the user to compare again. With
   * `whenKeysChange: "refuse"` nothing is sent until then.
   */
  readonly asksConfirmation: boolean
  /** `prn_…`, each once. Empty if this device is no member. */
  readonly memberUserIds: readonly string[]
  /** The members, or the peer, whom this user blocks: `prn_…`. */
  readonly blockedUserIds: readonly string[]
  /** `timeline` is complete up to this sequence number. */
  readonly processedSeq: bigint
  /** Set for a quarantined conversation. */
  readonly quarantine: { readonly reason: string; readonly seq: bigint; readonly evidence: Uint8Array } | undefined
}

export interface DeviceInfo {
  /** `dev_…` */
  readonly id: string
  readonly isThisOne: boolean
  readonly isRevoked: boolean
  readonly platform: string
  readonly createdAtMs: number
}

/**
 * End-to-end encrypted conversations of one device.
 *
 * Each request is stored before it is sent. After QUEUED or CONFLICT_EXHAUSTED a later `sync` completes it: do not
 * repeat the call. A call that throws another error has changed nothing.
 */
export interface Messenger {
  /** `dev_…` */
  readonly deviceId: string
  /**
   * Returns the one conversation with another user, and creates it if needed. It is usable at once: while its status is
   * `waiting` or `creating`, `send` queues messages. They are sent in order once a device of the peer can be added,
   * also after a restart.
   *
   * @throws Failure INVALID_FIELD for the own user; RESOURCE_UNRESOLVED for a user who is unknown or of another app or
   *   tenant. Nothing is stored then.
   */
  createDirectConversation(peerUserId: string): Promise<ConversationInfo>
  createGroupConversation(memberUserIds: readonly string[]): Promise<ConversationInfo>
  /** Encrypts a message and stores it in the outbox. The next `send` or `sync` sends it, in order. */
  encryptMessage(conversationId: string, plaintext: Uint8Array): Promise<OutgoingEnvelope>
  /** Processes one envelope, and fetches missing earlier ones. Accepts any order and repetitions. */
  processIncoming(incoming: IncomingEnvelope): Promise<Incoming>
  /** Adds every device of these users. Existing members are no error. */
  addMembers(conversationId: string, userIds: readonly string[]): Promise<void>
  removeMembers(conversationId: string, userIds: readonly string[]): Promise<void>
  /**
   * Encrypts and sends.
   *
   * @returns The message's sequence number, or `queued` while the conversation waits for its group. A queued message is
   *   stored, and `run` or a later `sync` sends it once, in order, also after a restart.
   */
  send(conversationId: string, plaintext: Uint8Array): Promise<SentMessage | QueuedMessage>
  /** Own messages that are stored and not yet in the log, in the order in which they were written. */
  outbox(conversationId: string): Promise<OutboxEntry[]>
  /**
   * Uploads a file and sends the message with its key. Only a part of the file is in memory at a time. The timeline of
   * each member gets an `attachment` entry.
   *
   * @throws MessagingError ATTACHMENT_INTERRUPTED: `uploads` lists the upload, and `resume` continues it.
   */
  sendAttachment(conversationId: string, source: AttachmentSource, options?: AttachmentOptions): Promise<SentMessage>
  /** Opens the attachment of a timeline entry. */
  openAttachment(conversationId: string, seq: bigint): Promise<OpenedAttachment>
  /** Interrupted uploads. */
  uploads(conversationId: string): Promise<UploadInfo[]>
  cancelUpload(conversationId: string, uploadId: string): Promise<void>
  /**
   * Requests the removal of the user's devices, which other members commit. None of them can send from then on. Each
   * message that waits, also on the other devices, is delivered before (`entry`) or reported as `unsent`.
   */
  leave(conversationId: string): Promise<void>
  /** Requests that members remove this device and add it again, after a quarantine or a rollback. */
  rejoin(conversationId: string): Promise<void>
  /** Replaces the keys of this device's leaf in a conversation. `sync` does it every week. */
  refreshKeys(conversationId: string): Promise<void>
  conversations(): Promise<ConversationInfo[]>
  conversation(conversationId: string): Promise<ConversationInfo | undefined>
  /** The processed entries, in order. */
  timeline(conversationId: string, range?: Range): Promise<TimelineEntry[]>
  /**
   * Blocks a user, on all devices of this user. The blocked user cannot start a direct conversation with this user, or
   * add this user to a group, and is not informed. Entries in conversations with both users have `isFromBlocked`.
   * `send` in the direct conversation throws USER_BLOCKED.
   *
   * @throws Failure INVALID_FIELD for the own user; RESOURCE_UNRESOLVED for an unknown one; LIMIT_EXCEEDED.
   */
  block(userId: string): Promise<void>
  unblock(userId: string): Promise<void>
  /** The blocked users, `prn_…`, as this device has last read them. */
  blockedUsers(): Promise<readonly string[]>
  /** The devices of this device's user. */
  devices(): Promise<DeviceInfo[]>
  /** Revokes a device of the user in the signed device list. Members then remove it from every conversation. */
  revokeDevice(deviceId: string): Promise<void>
  /**
   * Registers a new device in place of this one after DEVICE_ENDED and a new sign-in. Timelines and queued messages are
   * kept. Every conversation waits until a member adds the new device. Does nothing for a device that has not ended.
   * Call it only after the user has confirmed.
   */
  startAnew(): Promise<void>
  /** Fingerprints and safety numbers, to verify the keys of other users. */
  readonly verification: Verification
  /** Synchronizes all conversations with the service once. A failure in one conversation is a `failed` event. */
  sync(): Promise<void>
  /**
   * Synchronizes, and follows the service's hints until the signal aborts. Reconnects after failures.
   *
   * @throws The error that ended the device or the session.
   */
  run(signal: AbortSignal): Promise<void>
  /** Calls the listener with events from now on. @returns A function that ends the subscription. */
  subscribe(listener: (event: MessengerEvent) => void): () => void
  /** Events from now on. */
  events(signal?: AbortSignal): AsyncIterable<MessengerEvent>
  /**
   * Deletes the key that seals all local data: no conversation, message or identity of this device can be read again.
   * No other method deletes data. Call it only after the user has confirmed, and revoke the device, too.
   */
  destroyLocalState(confirm: "destroy everything on this device"): Promise<void>
  /** Closes the messenger and its store. Stored data stays. */
  close(): Promise<void>
}
