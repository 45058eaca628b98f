// @signet/client-react-native: sign-in and messaging in React Native. Secrets and state are in native code.

// First: the generated messages decode texts when they are loaded.
import "./text-encoding.ts"

export type {
  EnabledProvider,
  FailureReason,
  LoggedOutReason,
  SessionState,
  SignedIn,
  SignedInUser,
  SignInOption,
} from "@signet/client"
export type {
  AttachmentOptions,
  ComparedBy,
  ConversationInfo,
  ConversationStatus,
  DeviceFingerprint,
  DeviceInfo,
  Incoming,
  IncomingEnvelope,
  MessagingConfig,
  MessengerEvent,
  NewKey,
  OutboxEntry,
  Person,
  QueuedMessage,
  Range,
  SentMessage,
  TimelineEntry,
  UploadInfo,
  UserVerification,
  Verification,
  VerificationStatus,
} from "@signet/client/messaging"
export type { BackupSecret, BackupSummary, RestoredBackup, StoredBackup } from "@signet/client/messaging/backup"
export type { CodeOfDevice, HistoryProgress, HistoryRequest } from "@signet/client/messaging/history"
export type { Peeked, Preview } from "@signet/client/messaging/peek"
export type { PushEndpoint, PushSettings } from "@signet/client/messaging/push"
export { isSignetError, needsSignIn, SignetError } from "../core/errors.ts"
export { isMessagingError, MessagingError, type MessagingReason, messagingReasons } from "../core/messaging/errors.ts"
export { CoreError } from "../core/messaging/remote/core.ts"
export { isSecretBoxError, SecretBoxError, type SecretBoxReason } from "../core/secret-box.ts"
export type { AppFetch, AppRequest, AppResponse } from "./app-fetch.ts"
export type { Backups } from "./backup.ts"
export type { NativeIdentity } from "./identity.ts"
export type { FileTransfers, ReactNativeMessenger, ReactNativeMessengerOptions } from "./messenger.ts"
export { openSignet } from "./open.ts"
export type { ReactNativeOptions, SignetClient } from "./open-signet.ts"
export type { PeekRequest } from "./peek.ts"
export type { Histories, PushEndpoints } from "./recovery.ts"
