// What the messaging client refuses by itself. What a service refuses comes as it is: failureOf (../errors.ts) reads it.

export const messagingReasons = [
  /** No such conversation on this device. */
  "CONVERSATION_UNKNOWN",
  /** It takes nothing from this device now: it waits for its welcome, was left, or is quarantined. See its status. */
  "CONVERSATION_NOT_ACTIVE",
  /** Stored, and not done: the service cannot be reached. It is done by the next `sync`; do not ask for it again. */
  "QUEUED",
  /** Others' commits came first too often. Stored; the next `sync` tries on. */
  "CONFLICT_EXHAUSTED",
  /** What was stored is older than what was used: nothing is sent with it. The conversation is to be rejoined. */
  "STATE_ROLLBACK",
  /** A later version of this program wrote it. Nothing was changed. */
  "STATE_NEWER_VERSION",
  /** What was stored does not fit together. Nothing was changed. */
  "STATE_TAMPERED",
  /** Nobody is signed in: there is nobody whose messenger it could be. */
  "NOT_SIGNED_IN",
  /** The store is another user's, app's or tenant's. */
  "WRONG_USER",
  /** The platform lacks what the store is built on: choose another store. */
  "STORE_UNAVAILABLE",
  /** There is no room for more. Nothing was changed. */
  "STORE_FULL",
  /** The store was sealed by another secret box. */
  "SECURE_STORE_CHANGED",
  /** A welcome for a key package that was used before. */
  "KEY_PACKAGE_REUSED",
  /** A welcome that does not lead where its papers say. */
  "WELCOME_REFUSED",
  /** A key package, a proof or a conversation of the service's that does not verify. */
  "ANSWER_REFUSED",
  /** Not what a service would deliver, or of another conversation. */
  "ENVELOPE_INVALID",
  /** This device's clock is behind the service's by more than five minutes, so nothing of it can be judged. */
  "CLOCK_WRONG",
  /** The issuer's keys do not verify under the pinned root, or are older than those seen. */
  "ISSUER_KEYS_REFUSED",
  /** A message of more than 220 KiB. */
  "MESSAGE_TOO_LARGE",
  /** No such attachment, or no such upload, on this device. */
  "ATTACHMENT_UNKNOWN",
  /** A file that is larger than the service takes: 100 MiB, a few percent of them for what hides its size. */
  "ATTACHMENT_TOO_LARGE",
  /** A name that is a path, or a media type that is none. */
  "ATTACHMENT_INVALID",
  /** The file was changed since its upload began: what was sent of it is not gone on with. */
  "ATTACHMENT_SOURCE_CHANGED",
  /** The service has other bytes than were sent. None that did not pass was given out. */
  "ATTACHMENT_TAMPERED",
  /** The service does not have it any more, or it cannot be put into a message any more: it is sent anew. */
  "ATTACHMENT_GONE",
  /** The service cannot be reached. What is there stays: go on with `resume`, or with `from`. */
  "ATTACHMENT_INTERRUPTED",
  /** A user's keys are others than those that were compared, and nothing is sent to them: compare anew. */
  "KEYS_CHANGED",
  /** A conversation has a device of that user's that the signed list does not have: there is nothing to compare. */
  "KEYS_NOT_COVERED",
  /** A list of devices that does not verify, or cannot follow the one that was seen before. */
  "DEVICE_LIST_REFUSED",
  /** What was scanned or typed is not what this device has: the cause says in what way. */
  "COMPARISON_FAILED",
  /** The engine did not pass its proof on this machine: nothing can be sent or read with it. */
  "ENGINE_UNSAFE",
  /** The device was revoked, here or elsewhere. */
  "DEVICE_ENDED",
  /** The messenger was closed. */
  "CLOSED",
] as const

export type MessagingReason = (typeof messagingReasons)[number]

/** The message holds no secret and no plaintext. */
export class MessagingError extends Error {
  override readonly name = "MessagingError"
  readonly reason: MessagingReason

  constructor(reason: MessagingReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** By name, because packages that were built apart have a class each. */
export const isMessagingError = (error: unknown, ...reasons: readonly MessagingReason[]): error is MessagingError =>
  error instanceof Error &&
  error.name === "MessagingError" &&
  "reason" in error &&
  (reasons.length === 0 || reasons.some((reason) => reason === error.reason))
