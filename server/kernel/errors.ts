// Every refusal that a caller can receive. The contract is proto/signet/authz/v1/reason.proto; docs/reference/errors.md
// says how to handle each. A test keeps the three consistent.

/** A status code by its Connect name (https://connectrpc.com/docs/protocol#error-codes). */
export type StatusCode =
  | "canceled"
  | "invalid_argument"
  | "deadline_exceeded"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "resource_exhausted"
  | "failed_precondition"
  | "aborted"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "unauthenticated"

interface Refusal {
  readonly code: StatusCode
  /** HTTP status over REST. Connect applies its own mapping. */
  readonly status: number
  /** Safe to show to the caller: contains no secret and nothing of another tenant. */
  readonly message: string
}

export const refusals = {
  NO_CREDENTIAL: { code: "unauthenticated", status: 401, message: "the request has no access token: sign in first" },
  MALFORMED_CREDENTIAL: {
    code: "unauthenticated",
    status: 401,
    message: "the Authorization header must be one bearer token",
  },
  PAT_NOT_BEARER: {
    code: "unauthenticated",
    status: 401,
    message: "exchange the personal access token for an access token first",
  },
  PROVIDER_TOKEN_NOT_ACCEPTED: {
    code: "unauthenticated",
    status: 401,
    message: "a provider's token is not an access token: sign in with it first",
  },
  REFRESH_TOKEN_NOT_BEARER: {
    code: "unauthenticated",
    status: 401,
    message: "a refresh token is not an access token: refresh first",
  },
  SIGNATURE_INVALID: { code: "unauthenticated", status: 401, message: "the access token is not valid" },
  ALG_NOT_ALLOWED: { code: "unauthenticated", status: 401, message: "the access token is not valid" },
  TYP_NOT_ALLOWED: { code: "unauthenticated", status: 401, message: "the token is not an access token" },
  KEY_UNKNOWN: { code: "unauthenticated", status: 401, message: "the access token is not valid" },
  ISSUER_MISMATCH: { code: "unauthenticated", status: 401, message: "the access token is from another issuer" },
  AUDIENCE_MISMATCH: { code: "unauthenticated", status: 401, message: "the access token is for another service" },
  TOKEN_EXPIRED: { code: "unauthenticated", status: 401, message: "the access token has expired" },
  TOKEN_NOT_YET_VALID: { code: "unauthenticated", status: 401, message: "the access token is not valid yet" },
  PRINCIPAL_INACTIVE: { code: "unauthenticated", status: 401, message: "this account is not active" },
  PRINCIPAL_LOCKED: {
    code: "unauthenticated",
    status: 401,
    message: "an administrator has locked this account temporarily",
  },
  IDENTITY_INACTIVE: { code: "unauthenticated", status: 401, message: "this account is not active" },
  SESSION_REVOKED: { code: "unauthenticated", status: 401, message: "the session was revoked: sign in again" },
  SESSION_EXPIRED: { code: "unauthenticated", status: 401, message: "the session has expired: sign in again" },
  CREDENTIAL_REVOKED: { code: "unauthenticated", status: 401, message: "the credential was revoked" },
  TOKEN_REVOKED: { code: "unauthenticated", status: 401, message: "the access token was revoked" },
  PERMISSIONS_STALE: {
    code: "unauthenticated",
    status: 401,
    message: "permissions have changed: refresh the access token",
  },
  REVOCATION_STATE_STALE: {
    code: "unauthenticated",
    status: 401,
    message: "the revocation state is too old to check this token: try again later",
  },
  PROOF_OF_POSSESSION_REQUIRED: {
    code: "unauthenticated",
    status: 401,
    message: "this token requires a proof of possession",
  },
  APP_MISMATCH: { code: "permission_denied", status: 403, message: "the access token is for another app" },
  TENANT_MISMATCH: { code: "permission_denied", status: 403, message: "the access token is for another tenant" },
  CONTEXT_MISMATCH: { code: "permission_denied", status: 403, message: "the access token is for another context" },
  TENANT_REQUIRED: {
    code: "permission_denied",
    status: 403,
    message: "the access token has no tenant: sign in with tenant_id",
  },
  MEMBERSHIP_INACTIVE: { code: "permission_denied", status: 403, message: "the account has no active membership here" },
  TENANT_SUSPENDED: { code: "permission_denied", status: 403, message: "the app or tenant is suspended" },
  PRINCIPAL_KIND_NOT_ALLOWED: { code: "permission_denied", status: 403, message: "this kind of caller is not allowed" },
  MISSING_SCOPE: {
    code: "permission_denied",
    status: 403,
    message: "the access token does not have the required scope",
  },
  MISSING_PERMISSION: {
    code: "permission_denied",
    status: 403,
    message: "the caller does not have the required permission",
  },
  MISSING_ROLE: { code: "permission_denied", status: 403, message: "the caller does not have the required role" },
  STEP_UP_REQUIRED: {
    code: "permission_denied",
    status: 403,
    message: "this call requires a recent sign-in: sign in again",
  },
  RESOURCE_NOT_GRANTED: {
    code: "permission_denied",
    status: 403,
    message: "the caller has no grant for this resource",
  },
  RESOURCE_UNRESOLVED: {
    code: "permission_denied",
    status: 403,
    message: "the resource does not exist or is not accessible",
  },
  ACTOR_REQUIRED: {
    code: "permission_denied",
    status: 403,
    message: "this call requires a service that acts for a user",
  },
  ACTOR_NOT_ALLOWED: {
    code: "permission_denied",
    status: 403,
    message: "this service is not allowed to act for the user here",
  },
  DELEGATION_EXPIRED: { code: "permission_denied", status: 403, message: "the delegation has expired" },
  DELEGATION_CHAIN_TOO_DEEP: { code: "permission_denied", status: 403, message: "the delegation chain is too long" },
  JOB_MISMATCH: { code: "permission_denied", status: 403, message: "the delegation is for another job" },
  ENVELOPE_MALFORMED: { code: "unauthenticated", status: 401, message: "the envelope is malformed" },
  ENVELOPE_SIGNATURE_INVALID: {
    code: "unauthenticated",
    status: 401,
    message: "the envelope's signature is not valid",
  },
  ENVELOPE_CERTIFICATE_INVALID: {
    code: "unauthenticated",
    status: 401,
    message: "the sender's certificate is not valid",
  },
  ENVELOPE_CERTIFICATE_EXPIRED: {
    code: "unauthenticated",
    status: 401,
    message: "the sender's certificate has expired",
  },
  ENVELOPE_KEY_REVOKED: { code: "unauthenticated", status: 401, message: "the sender's key was revoked" },
  ENVELOPE_EXPIRED: { code: "unauthenticated", status: 401, message: "the envelope has expired" },
  ENVELOPE_NOT_YET_VALID: { code: "unauthenticated", status: 401, message: "the envelope is not valid yet" },
  ENVELOPE_TOO_LONG_LIVED: {
    code: "unauthenticated",
    status: 401,
    message: "the envelope's lifetime exceeds seven days",
  },
  ENVELOPE_MESSAGE_ALTERED: {
    code: "unauthenticated",
    status: 401,
    message: "the message does not match its envelope",
  },
  ENVELOPE_CHAIN_BROKEN: {
    code: "unauthenticated",
    status: 401,
    message: "the envelope does not match the previous envelope",
  },
  ENVELOPE_SENDER_NOT_ALLOWED: {
    code: "permission_denied",
    status: 403,
    message: "the sender is not allowed to post to this mailbox",
  },
  ENVELOPE_MAILBOX_MISMATCH: { code: "permission_denied", status: 403, message: "the envelope is for another mailbox" },
  ENVELOPE_REPLAYED: { code: "permission_denied", status: 403, message: "the envelope was already processed" },
  ENVELOPE_HOP_LIMIT: {
    code: "permission_denied",
    status: 403,
    message: "the message was forwarded more than 16 times",
  },
  ENVELOPE_NOT_FORWARDERS: {
    code: "permission_denied",
    status: 403,
    message: "only the receiver of an envelope can forward it",
  },
  ENVELOPE_SCOPES_WIDENED: {
    code: "permission_denied",
    status: 403,
    message: "the envelope has scopes that it was not granted",
  },
  PROVIDER_TOKEN_INVALID: { code: "unauthenticated", status: 401, message: "the provider's credential is not valid" },
  PROVIDER_TOKEN_REPLAYED: {
    code: "unauthenticated",
    status: 401,
    message: "the provider's credential was already used: get a new one",
  },
  NONCE_MISMATCH: {
    code: "unauthenticated",
    status: 401,
    message: "the provider's credential was issued for another sign-in",
  },
  PROVIDER_NOT_CONFIGURED: {
    code: "failed_precondition",
    status: 400,
    message: "the app has no client for this provider and platform",
  },
  CONNECTION_REQUIRED: {
    code: "invalid_argument",
    status: 400,
    message: "the app has several connections for this provider: set `connection`",
  },
  CONNECTION_UNKNOWN: {
    code: "invalid_argument",
    status: 400,
    message: "the app has no such connection for this provider and platform",
  },
  PROVIDER_DISABLED: {
    code: "permission_denied",
    status: 403,
    message: "the app's client for this provider is disabled",
  },
  SIGNUP_DISABLED: {
    code: "permission_denied",
    status: 403,
    message:
      "the app does not allow sign-up with this method: if you have an account, sign in as usual, then link this method",
  },
  AUDIENCE_NOT_REGISTERED: {
    code: "invalid_argument",
    status: 400,
    message: "the app is not registered for this audience",
  },
  UPSTREAM_UNAVAILABLE: { code: "unavailable", status: 503, message: "the provider does not respond: try again later" },
  EMAIL_NOT_VERIFIED: {
    code: "permission_denied",
    status: 403,
    message: "the email address is not verified at the provider",
  },
  INVALID_CREDENTIALS: { code: "unauthenticated", status: 401, message: "email or password is wrong" },
  MAGIC_LINK_INVALID: {
    code: "unauthenticated",
    status: 401,
    message: "the link is invalid, used or expired: request a new one",
  },
  PROVIDER_ACCOUNT_IN_USE: {
    code: "already_exists",
    status: 409,
    message: "this provider account belongs to another identity",
  },
  LAST_LOGIN_METHOD: {
    code: "failed_precondition",
    status: 409,
    message: "this is the only sign-in method: link another one first",
  },
  IDENTITY_DELETION_PENDING: {
    code: "permission_denied",
    status: 403,
    message: "this account is scheduled for deletion: sign in with cancel_deletion to keep it",
  },
  INVITATION_INVALID: { code: "permission_denied", status: 403, message: "the invitation is invalid, used or expired" },
  REDIRECT_NOT_ALLOWED: { code: "invalid_argument", status: 400, message: "redirect_uri is not in the app's list" },
  LOCKED_OUT: { code: "resource_exhausted", status: 429, message: "too many failed attempts: try again later" },
  REFRESH_TOKEN_INVALID: {
    code: "unauthenticated",
    status: 401,
    message: "the refresh token is unknown, expired or revoked: sign in again",
  },
  REFRESH_TOKEN_REUSED: {
    code: "unauthenticated",
    status: 401,
    message: "the refresh token was used before, so its session was revoked: sign in again",
  },
  SESSION_NOT_FOUND: { code: "not_found", status: 404, message: "the session was not found" },
  AMBIGUOUS_CREDENTIAL: {
    code: "invalid_argument",
    status: 400,
    message: "send the refresh token as a cookie or in the body, not both",
  },
  ORIGIN_NOT_ALLOWED: {
    code: "permission_denied",
    status: 403,
    message: "the page's origin is not in the app's allowed_origins",
  },
  CLIENT_INVALID: { code: "unauthenticated", status: 401, message: "client authentication failed" },
  CLIENT_NOT_ALLOWED: { code: "permission_denied", status: 403, message: "the client is not allowed to do this" },
  GRANT_TYPE_UNSUPPORTED: { code: "invalid_argument", status: 400, message: "grant_type is not supported" },
  AUDIENCE_NOT_ALLOWED: {
    code: "invalid_argument",
    status: 400,
    message: "the client, credential or policy does not allow this audience",
  },
  SCOPE_NOT_GRANTED: { code: "permission_denied", status: 403, message: "a requested scope cannot be granted" },
  PAT_INVALID: {
    code: "unauthenticated",
    status: 401,
    message: "the personal access token is unknown, expired or revoked",
  },
  SUBJECT_TOKEN_INVALID: { code: "unauthenticated", status: 401, message: "the subject token cannot be exchanged" },
  DELEGATION_NOT_ALLOWED: {
    code: "permission_denied",
    status: 403,
    message: "no policy allows this service to act for this user",
  },
  AUDIENCE_TAKEN: { code: "already_exists", status: 409, message: "another service owns this audience" },
  CREDENTIAL_LIMIT: {
    code: "failed_precondition",
    status: 409,
    message: "the account has reached its limit of active credentials: revoke one first",
  },
  ALREADY_EXISTS: { code: "already_exists", status: 409, message: "the object already exists" },
  STATE_CONFLICT: {
    code: "failed_precondition",
    status: 409,
    message: "the object's state does not allow this operation",
  },
  IN_USE: {
    code: "failed_precondition",
    status: 409,
    message: "another object still uses this one: remove that first",
  },
  OUTPUT_ONLY_FIELD: {
    code: "invalid_argument",
    status: 400,
    message: "only the service sets this field, or it cannot change: omit it",
  },
  SNAPSHOT_OUTDATED: {
    code: "aborted",
    status: 409,
    message: "permissions changed after this version: refresh the access token",
  },
  GRANT_LIMIT: {
    code: "failed_precondition",
    status: 409,
    message: "the principal has reached the limit of grants in this app: revoke one first",
  },
  SNAPSHOT_TOO_LARGE: {
    code: "resource_exhausted",
    status: 507,
    message: "the permission snapshot exceeds the maximum size: reduce the principal's roles",
  },
  MALFORMED_REQUEST: { code: "invalid_argument", status: 400, message: "the request is malformed" },
  UNKNOWN_FIELD: { code: "invalid_argument", status: 400, message: "the request has an unknown field" },
  DUPLICATE_FIELD: { code: "invalid_argument", status: 400, message: "a field occurs twice in the request" },
  INVALID_FIELD: { code: "invalid_argument", status: 400, message: "a field has an invalid value" },
  FIELD_CONFLICT: {
    code: "invalid_argument",
    status: 400,
    message: "the path and the body have different values for a field",
  },
  NESTING_TOO_DEEP: { code: "invalid_argument", status: 400, message: "the request is nested deeper than 32 levels" },
  BODY_TOO_LARGE: { code: "resource_exhausted", status: 413, message: "the request exceeds the size limit" },
  UNSUPPORTED_MEDIA_TYPE: { code: "invalid_argument", status: 415, message: "the content type is not supported here" },
  METHOD_UNKNOWN: { code: "unimplemented", status: 404, message: "the method or route does not exist" },
  NOT_FOUND: { code: "not_found", status: 404, message: "not found" },
  RATE_LIMITED: { code: "resource_exhausted", status: 429, message: "too many requests: try again later" },
  DEADLINE_EXCEEDED: { code: "deadline_exceeded", status: 504, message: "the deadline has passed" },
  CANCELED: { code: "canceled", status: 499, message: "the call was canceled" },
  UNAVAILABLE: { code: "unavailable", status: 503, message: "the service is temporarily unavailable: try again later" },
  INTERNAL: { code: "internal", status: 500, message: "internal error" },
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

export type Reason = keyof typeof refusals

const isRefused = Symbol.for("signet.Refused")

/**
 * An expected refusal. Everything else that is thrown is a fault, whose text is never sent to a caller.
 *
 * `metadata` holds facts for the caller (ErrorInfo.metadata): names and numbers of the request, never secrets.
 */
export class Refused extends Error {
  /**
   * Also accepts instances from another copy of this module: a process may load the guard by `import` and by `require`.
   */
  static override [Symbol.hasInstance](value: unknown): value is Refused {
    return typeof value === "object" && value !== null && isRefused in value
  }

  override readonly name = "Refused"
  readonly reason: Reason
  readonly metadata: Readonly<Record<string, string>>

  constructor(reason: Reason, options: { message?: string; metadata?: Record<string, string>; cause?: unknown } = {}) {
    super(
      options.message ?? refusals[reason].message,
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.reason = reason
    this.metadata = options.metadata ?? {}
    Object.defineProperty(this, isRefused, { value: true })
  }

  get code(): StatusCode {
    return refusals[this.reason].code
  }

  get status(): number {
    return refusals[this.reason].status
  }
}
