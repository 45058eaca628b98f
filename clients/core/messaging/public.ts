// Exports of every platform's package. Its own createMessenger comes with a core, which a page loads on demand.
export type { OpenedAttachment, ReadOptions } from "./attachments/reading.ts"
export type { AttachmentSource } from "./attachments/source.ts"
export type { AttachmentOptions, UploadInfo } from "./attachments/upload.ts"
export { isMessagingError, MessagingError, type MessagingReason, messagingReasons } from "./errors.ts"
export type { ConversationStatus, MessengerEvent, NewKey, Person, TimelineEntry } from "./events.ts"
export type {
  ConversationInfo,
  DeviceInfo,
  Incoming,
  IncomingEnvelope,
  MessagingConfig,
  Messenger,
  MessengerOptions,
} from "./messenger.ts"
export type { OutgoingEnvelope, SentMessage } from "./sending/outbox.ts"
export type { OutboxEntry, QueuedMessage } from "./sending/queue.ts"
export type { MessagingSession } from "./session.ts"
export { messagingSession, type SignedInOptions } from "./signed-in.ts"
export type { Range } from "./state/timeline.ts"
export { openMemoryStore } from "./store/memory.ts"
export type { MessagingStore, Named, Op, Row, Space, Table, Transacted } from "./store/store.ts"
export type {
  ComparedBy,
  DeviceFingerprint,
  UserVerification,
  Verification,
  VerificationStatus,
} from "./verification/verification.ts"
