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
export { isSignetError, needsSignIn, SignetError } from "../core/errors.ts"
export { isMessagingError, MessagingError, type MessagingReason, messagingReasons } from "../core/messaging/errors.ts"
export { CoreError } from "../core/messaging/remote/core.ts"
export { isSecretBoxError, SecretBoxError, type SecretBoxReason } from "../core/secret-box.ts"
export type { AppFetch, AppRequest, AppResponse } from "./app-fetch.ts"
export type { NativeIdentity } from "./identity.ts"
export type { FileTransfers, ReactNativeMessenger, ReactNativeMessengerOptions } from "./messenger.ts"
export { openSignet } from "./open.ts"
export type { ReactNativeOptions, SignetClient } from "./open-signet.ts"
