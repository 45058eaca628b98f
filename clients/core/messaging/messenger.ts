import type { Transport } from "@connectrpc/connect"
import type { Envelope } from "@signet/proto/messaging/v1/records"
import type { Clock, Random } from "../ports.ts"
import type { SecretBox } from "../secret-box.ts"
import type { OpenedAttachment } from "./attachments/download.ts"
import type { AttachmentSource } from "./attachments/source.ts"
import type { AttachmentOptions, UploadInfo } from "./attachments/upload.ts"
import type { ConversationStatus, MessengerEvent, TimelineEntry } from "./events.ts"
import type { OutgoingEnvelope, SentMessage } from "./sending/outbox.ts"
import type { OutboxEntry, QueuedMessage } from "./sending/queue.ts"
import type { MessagingSession } from "./session.ts"
import type { Range } from "./state/timeline.ts"
import type { MessagingStore } from "./store/store.ts"
import type { Verification } from "./verification/verification.ts"

/** Where the messaging service is, and whom it is believed. */
export interface MessagingConfig {
  /** https, or this very machine; without a slash at the end. */
  readonly baseUrl: string
  /** The issuer's root public keys, 32 bytes each: from the app itself, never from a server. */
  readonly issuerRootKeys: readonly Uint8Array[]
}

export interface MessengerOptions {
  readonly messaging: MessagingConfig
  readonly session: MessagingSession
  /** To `messaging.baseUrl`, without credentials: the messenger adds them. */
  readonly transport: Transport
  readonly store: MessagingStore
  readonly secretBox: SecretBox
  readonly clock: Clock
  readonly random: Random
  /**
   * What becomes of a message to somebody whose keys are others than those that were compared: it is sent all the same,
   * with an event to tell, or refused with KEYS_CHANGED until they are compared anew. Default: "warn".
   */
  readonly whenKeysChange?: "warn" | "refuse"
  /** What the device runs on, as its user's list of devices shows it: [a-z0-9._:/-]. */
  readonly platform: string
}

/**
 * An envelope of the log, as ListMessages or the stream gave it, or as it was handed on over a channel that is believed
 * to be the service's: the place of a message is the service's word alone.
 */
export interface IncomingEnvelope {
  readonly conversationId: string
  readonly envelope: Envelope
}

/** What became of an envelope. */
export type Incoming =
  /** It, and what waited for it, was taken in. */
  | { readonly is: "processed"; readonly entries: readonly TimelineEntry[] }
  /** It had been taken in before, and changed nothing. */
  | { readonly is: "replay" }
  /** What comes before it is not here yet. It waits, and is taken in when that comes. */
  | { readonly is: "queued" }

export interface ConversationInfo {
  readonly id: string
  readonly status: ConversationStatus
  readonly isDirect: boolean
  /**
   * What a `waiting` conversation waits for: `keyPackages`, when no device of the others can be added yet, or `welcome`,
   * when a device of somebody else has to add this one. Undefined in every other status.
   */
  readonly waitsFor: "keyPackages" | "welcome" | undefined
  /**
   * The group was replaced since a verified peer's keys were compared: ask for a new comparison. With
   * `whenKeysChange: "refuse"` nothing is sent before.
   */
  readonly asksConfirmation: boolean
  /** `prn_…`, each once; of a conversation that this device is in. */
  readonly memberUserIds: readonly string[]
  /** Everything up to this place is in `timeline`. */
  readonly processedSeq: bigint
  /** Why it is quarantined. */
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
 * What is asked for is stored before the network is asked: after QUEUED or CONFLICT_EXHAUSTED it is done by a later
 * `sync`, and is not to be asked for again. Whatever else is thrown has changed nothing.
 */
export interface Messenger {
  /** `dev_…` */
  readonly deviceId: string
  /**
   * The conversation with one other user: there is one. It is usable at once: while its status is `waiting` or `creating`,
   * `send` queues, and messages are delivered in order once a device of the peer can be added, also after a restart.
   *
   * @throws Failure INVALID_FIELD for the own user, RESOURCE_UNRESOLVED for a user who is unknown or of another app or
   *   tenant: nothing is stored then.
   */
  createDirectConversation(peerUserId: string): Promise<ConversationInfo>
  createGroupConversation(memberUserIds: readonly string[]): Promise<ConversationInfo>
  /** Encrypts a message and puts it where `send` and `sync` find it: it is sent, in order, with the next of either. */
  encryptMessage(conversationId: string, plaintext: Uint8Array): Promise<OutgoingEnvelope>
  /** Takes one envelope in; what is missing before it is fetched. In any order, any number of times. */
  processIncoming(incoming: IncomingEnvelope): Promise<Incoming>
  /** Every device of these users. Who is in already is no error. */
  addMembers(conversationId: string, userIds: readonly string[]): Promise<void>
  removeMembers(conversationId: string, userIds: readonly string[]): Promise<void>
  /**
   * Encrypts and sends.
   *
   * @returns The message's place in the log, or `queued` while the conversation waits for its group: the message is
   *   stored, and is sent once, in order, by `run` or a later `sync`, also after a restart.
   */
  send(conversationId: string, plaintext: Uint8Array): Promise<SentMessage | QueuedMessage>
  /** Own messages that are stored and not in the log yet, in the order that they were written in. */
  outbox(conversationId: string): Promise<OutboxEntry[]>
  /**
   * Uploads a file and sends the message that opens it. Of any size that the service takes, a part of it in memory at a
   * time: whoever reads the log has a `message` that is an attachment.
   *
   * @throws MessagingError ATTACHMENT_INTERRUPTED: `uploads` has it, and `resume` goes on.
   */
  sendAttachment(conversationId: string, source: AttachmentSource, options?: AttachmentOptions): Promise<SentMessage>
  /** Opens the attachment at a place of the timeline. */
  openAttachment(conversationId: string, seq: bigint): Promise<OpenedAttachment>
  /** Uploads that were stopped. */
  uploads(conversationId: string): Promise<UploadInfo[]>
  cancelUpload(conversationId: string, uploadId: string): Promise<void>
  /** Asks that the own devices be removed; others do it. Nothing can be sent from then on. */
  leave(conversationId: string): Promise<void>
  /** Asks to be removed and let in again: for a conversation that is quarantined or rolled back. Others do it. */
  rejoin(conversationId: string): Promise<void>
  /** New keys for this device's place in a conversation. Done by itself every week. */
  refreshKeys(conversationId: string): Promise<void>
  conversations(): Promise<ConversationInfo[]>
  conversation(conversationId: string): Promise<ConversationInfo | undefined>
  /** What happened, in order, as far as it was taken in. */
  timeline(conversationId: string, range?: Range): Promise<TimelineEntry[]>
  /** The devices of the own user. */
  devices(): Promise<DeviceInfo[]>
  /** Ends a device of the own user, as its signed list says then: it is removed from every conversation. */
  revokeDevice(deviceId: string): Promise<void>
  /**
   * Registers another device in the place of this one, where it has ended (DEVICE_ENDED) and its user has signed in anew.
   * What was read stays, and what waits is sent when it can be: every conversation waits until others let the new device
   * in. One that has not ended stays what it is. Only ever on the user's word.
   */
  startAnew(): Promise<void>
  /** Fingerprints and safety numbers: whether users are who they seem. */
  readonly verification: Verification
  /** Brings everything to where the service is, once. What failed in one conversation is an event. */
  sync(): Promise<void>
  /**
   * Syncs, and follows the service's hints until the signal ends it; comes back by itself after failures.
   *
   * @throws what ended the device or the session.
   */
  run(signal: AbortSignal): Promise<void>
  /** Hears what happens from now on. @returns Ends it. */
  subscribe(listener: (event: MessengerEvent) => void): () => void
  /** What happens from now on. */
  events(signal?: AbortSignal): AsyncIterable<MessengerEvent>
  /**
   * Forgets the key that everything here is sealed with: no conversation, message or identity of this device is ever read
   * again. Only ever on the user's word; revoke the device, too. Nothing else ever deletes anything.
   */
  destroyLocalState(confirm: "destroy everything on this device"): Promise<void>
  /** Lets go of the store. What is stored stays. */
  close(): Promise<void>
}
