import type { Refusal } from "./refusal.ts"

/** Refusals of messaging, and of the auth service to a messaging backend. */
export const messagingRefusals = {
  DEVICE_REQUIRED: {
    code: "unauthenticated",
    status: 401,
    message: "the access token is not bound to a device: register this device, then refresh the token",
  },
  DEVICE_PROOF_INVALID: {
    code: "unauthenticated",
    status: 401,
    message: "the device's proof is not valid for this call",
  },
  DEVICE_REVOKED: { code: "permission_denied", status: 403, message: "this device was revoked" },
  DEVICE_KEY_TAKEN: { code: "already_exists", status: 409, message: "the key belongs to another device" },
  CREDENTIAL_INVALID: {
    code: "invalid_argument",
    status: 400,
    message: "the device's request or credential is not valid",
  },
  CREDENTIAL_REFUSED: { code: "permission_denied", status: 403, message: "a device's credential is not accepted" },
  PROOF_REFUSED: { code: "permission_denied", status: 403, message: "the membership proof is not accepted" },
  PROOF_STALE: {
    code: "permission_denied",
    status: 403,
    message: "the membership proof is for another state of the conversation",
  },
  GHOST_MEMBER: { code: "permission_denied", status: 403, message: "the commit adds a member that was not authorized" },
  NOT_MEMBER: { code: "permission_denied", status: 403, message: "this device is not a member of the conversation" },
  MEMBERSHIP_CHANGE_NOT_ALLOWED: {
    code: "permission_denied",
    status: 403,
    message: "this change of members is not allowed",
  },
  KEY_PACKAGE_INVALID: { code: "invalid_argument", status: 400, message: "the key package is not valid" },
  KEY_PACKAGE_DUPLICATE: {
    code: "already_exists",
    status: 409,
    message: "the init key of the key package was uploaded before",
  },
  KEY_PACKAGE_NOT_CLAIMED: {
    code: "failed_precondition",
    status: 400,
    message: "this device has not claimed the key package",
  },
  NO_KEY_PACKAGE: { code: "failed_precondition", status: 400, message: "no key package is available" },
  WELCOME_ALREADY_CONSUMED: { code: "already_exists", status: 409, message: "the welcome was consumed already" },
  WELCOME_RECIPIENT_MISMATCH: {
    code: "invalid_argument",
    status: 400,
    message: "the welcome is not for the devices that are added",
  },
  GROUP_INFO_MISMATCH: {
    code: "invalid_argument",
    status: 400,
    message: "the GroupInfo or ratchet tree does not match the commit",
  },
  MLS_MALFORMED: { code: "invalid_argument", status: 400, message: "the MLS message is malformed" },
  MLS_NON_CANONICAL: {
    code: "invalid_argument",
    status: 400,
    message: "the MLS message is not in its canonical encoding",
  },
  MLS_WRONG_WIRE_FORMAT: {
    code: "invalid_argument",
    status: 400,
    message: "the MLS message has the wrong wire format",
  },
  MLS_WRONG_GROUP: { code: "invalid_argument", status: 400, message: "the message is for another group" },
  ENVELOPE_INVALID: { code: "invalid_argument", status: 400, message: "the message's authenticated data is not valid" },
  COMMIT_CONFLICT: { code: "aborted", status: 409, message: "another commit ended the epoch first" },
  STALE_EPOCH: { code: "aborted", status: 409, message: "the epoch has passed" },
  FUTURE_EPOCH: { code: "aborted", status: 409, message: "the conversation has not reached this epoch" },
  IDEMPOTENCY_MISMATCH: {
    code: "already_exists",
    status: 409,
    message: "the idempotency key was used for another request",
  },
  COMMIT_REQUIRED: {
    code: "failed_precondition",
    status: 400,
    message: "a directive must be committed first",
  },
  CONVERSATION_QUARANTINED: { code: "failed_precondition", status: 400, message: "the conversation is quarantined" },
  CONVERSATION_CLOSED: { code: "failed_precondition", status: 400, message: "the conversation is closed" },
  NOTHING_TO_DO: { code: "failed_precondition", status: 400, message: "the change is already in effect" },
  DIRECTIVE_LEASED: {
    code: "failed_precondition",
    status: 400,
    message: "another device holds the lease of the directive, or the caller has none",
  },
  RESET_NOT_NEEDED: {
    code: "failed_precondition",
    status: 400,
    message: "a member device that can add this device was online within the last minute: wait for its welcome",
  },
  USER_BLOCKED: {
    code: "failed_precondition",
    status: 400,
    message: "the caller blocks this user: unblock the user first",
  },
  LOG_INCOMPLETE: {
    code: "aborted",
    status: 409,
    message: "the log lacks messages that the caller has read: resubmit them",
  },
  LOG_PRUNED: {
    code: "failed_precondition",
    status: 400,
    message: "the log is no longer stored from this sequence number on",
  },
  LIMIT_EXCEEDED: { code: "resource_exhausted", status: 429, message: "a limit is exceeded" },
  STORAGE_FULL: { code: "resource_exhausted", status: 507, message: "the service has no storage left" },
  ATTACHMENT_COMPLETE: {
    code: "failed_precondition",
    status: 400,
    message: "the attachment is complete and cannot change",
  },
  ATTACHMENT_INCOMPLETE: { code: "failed_precondition", status: 400, message: "parts of the attachment are missing" },
  PLACE_HELD: { code: "unavailable", status: 503, message: "the app or tenant is being moved: try again in a moment" },
  CALLER_REFUSED: { code: "permission_denied", status: 403, message: "the caller's access token was rejected" },
  NOT_THE_CALLERS: { code: "permission_denied", status: 403, message: "the request exceeds the caller's authority" },
} as const satisfies Record<string, Refusal>
