// Errors of the messaging client itself. A refusal by the service is thrown unchanged: read it with `failureOf`.

export const messagingReasons = [
  /** No such conversation on this device. */
  "CONVERSATION_UNKNOWN",
  /** The conversation accepts no change from this device: see its status. */
  "CONVERSATION_NOT_ACTIVE",
  /** The service cannot be reached. The request is stored and the next `sync` sends it: do not repeat the call. */
  "QUEUED",
  /** Other members' commits came first too often. The request is stored, and the next `sync` retries it. */
  "CONFLICT_EXHAUSTED",
  /** The stored state is older than one that was used, so nothing is sent with it: rejoin the conversation. */
  "STATE_ROLLBACK",
  /** A newer version of this program wrote the stored data or the backup. Nothing was changed. */
  "STATE_NEWER_VERSION",
  /** The stored data is inconsistent. Nothing was changed. */
  "STATE_TAMPERED",
  /** No user is signed in. */
  "NOT_SIGNED_IN",
  /** The store or the backup belongs to another user, app or tenant. */
  "WRONG_USER",
  /** The platform lacks a feature that the store needs: choose another store. */
  "STORE_UNAVAILABLE",
  /** The storage is full. Nothing was changed. */
  "STORE_FULL",
  /** The store was sealed by another secret box. */
  "SECURE_STORE_CHANGED",
  /** A welcome for a key package that was used before. */
  "KEY_PACKAGE_REUSED",
  /** A welcome that does not match its receipt, proof or conversation. */
  "WELCOME_REFUSED",
  /** A response of the service that does not verify: a credential, key package, proof or conversation. */
  "ANSWER_REFUSED",
  /** An envelope that is malformed, or of another conversation. */
  "ENVELOPE_INVALID",
  /** This device's clock is over five minutes behind the service's, so no signature time can be verified. */
  "CLOCK_WRONG",
  /** The issuer's keys do not verify under the pinned root, or are older than those seen. */
  "ISSUER_KEYS_REFUSED",
  /** A message of more than 220 KiB. */
  "MESSAGE_TOO_LARGE",
  /** No such attachment, or no such upload, on this device. */
  "ATTACHMENT_UNKNOWN",
  /** A file over the limit of the service: 100 MiB, including a few percent of padding that hides the size. */
  "ATTACHMENT_TOO_LARGE",
  /** An invalid file name, as a path, or an invalid media type. */
  "ATTACHMENT_INVALID",
  /** The file changed after its upload began, so the upload cannot be resumed. */
  "ATTACHMENT_SOURCE_CHANGED",
  /** The service returned other bytes than were sent. Only verified bytes were given to the app. */
  "ATTACHMENT_TAMPERED",
  /** The service no longer stores the attachment, or no message can refer to it any more: send it again. */
  "ATTACHMENT_GONE",
  /** The service cannot be reached. Transferred bytes are kept: continue with `resume` or `from`. */
  "ATTACHMENT_INTERRUPTED",
  /** This user blocks the peer of the direct conversation, so nothing is sent: unblock first. */
  "USER_BLOCKED",
  /** A user's keys differ from the compared ones, and nothing is sent to that user: compare again. */
  "KEYS_CHANGED",
  /** A conversation has a device of the user that is missing in the user's signed list: nothing can be compared. */
  "KEYS_NOT_COVERED",
  /** A device list that does not verify, or does not continue the one that was seen before. */
  "DEVICE_LIST_REFUSED",
  /** The scanned or typed value differs from the one of this device. The cause says how. */
  "COMPARISON_FAILED",
  /** A mistyped recovery key: the message says whether its length, a character or its checksum is wrong. */
  "BACKUP_KEY_INVALID",
  /** Another recovery key or passphrase than the backup's. */
  "BACKUP_KEY_WRONG",
  /** The passphrase derivation of the backup is weaker than 19 MiB and two passes, or beyond 1 GiB. */
  "BACKUP_PARAMETERS_REFUSED",
  /** The backup was changed or damaged. Only verified chunks before that place were imported. */
  "BACKUP_TAMPERED",
  /** The backup ends before its last chunk. Verified chunks were imported: repeat it with the whole file. */
  "BACKUP_INCOMPLETE",
  /** An older backup than one that this device stored at the service or restored from it. */
  "BACKUP_OUTDATED",
  /** The service stores no such backup. */
  "BACKUP_UNKNOWN",
  /** A request or grant of a transfer of history that does not verify. Nothing was sent or imported. */
  "HISTORY_REFUSED",
  /** The transferred history was changed or damaged. Only verified chunks before that place were imported. */
  "HISTORY_TAMPERED",
  /** The transfer of history has expired, was deleted, or is unknown: request the history again. */
  "HISTORY_ENDED",
  /** The engine failed its self-test on this machine: nothing can be sent or read. */
  "ENGINE_UNSAFE",
  /** The device was revoked, or its key cannot be used any more. Sign in, then call `startAnew`. */
  "DEVICE_ENDED",
  /** The messenger was closed. */
  "CLOSED",
] as const

export type MessagingReason = (typeof messagingReasons)[number]

/** An error of the messaging client. Its message contains no secret and no plaintext. */
export class MessagingError extends Error {
  override readonly name = "MessagingError"
  readonly reason: MessagingReason

  constructor(reason: MessagingReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** Compares the name: each package has its own copy of the class. */
export const isMessagingError = (error: unknown, ...reasons: readonly MessagingReason[]): error is MessagingError =>
  error instanceof Error &&
  error.name === "MessagingError" &&
  "reason" in error &&
  (reasons.length === 0 || reasons.some((reason) => reason === error.reason))
