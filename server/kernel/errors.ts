// Every refusal that a caller can meet. The contract is proto/signet/authz/v1/reason.proto; what to do about each is in
// docs/reference/errors.md. A test holds the three together.

/** A canonical status code, by its name in Connect (https://connectrpc.com/docs/protocol#error-codes). */
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
  /** The HTTP status over REST; Connect's own mapping applies over Connect. */
  readonly status: number
  /** A sentence that may be shown to the caller: no secret, and nothing of other tenants. */
  readonly message: string
}

export const refusals = {
  NO_CREDENTIAL: { code: "unauthenticated", status: 401, message: "sign in first" },
  MALFORMED_CREDENTIAL: {
    code: "unauthenticated",
    status: 401,
    message: "the Authorization header is not one bearer token",
  },
  PAT_NOT_BEARER: {
    code: "unauthenticated",
    status: 401,
    message: "exchange the personal access token for an access token first",
  },
  PROVIDER_TOKEN_NOT_ACCEPTED: {
    code: "unauthenticated",
    status: 401,
    message: "sign in with the provider's token first; it is no access token",
  },
  REFRESH_TOKEN_NOT_BEARER: { code: "unauthenticated", status: 401, message: "a refresh token is no access token" },
  SIGNATURE_INVALID: { code: "unauthenticated", status: 401, message: "the access token is not valid" },
  ALG_NOT_ALLOWED: { code: "unauthenticated", status: 401, message: "the access token is not valid" },
  TYP_NOT_ALLOWED: { code: "unauthenticated", status: 401, message: "the token is not an access token" },
  KEY_UNKNOWN: { code: "unauthenticated", status: 401, message: "the access token is not valid" },
  ISSUER_MISMATCH: { code: "unauthenticated", status: 401, message: "the access token is of another issuer" },
  AUDIENCE_MISMATCH: { code: "unauthenticated", status: 401, message: "the access token is for another service" },
  TOKEN_EXPIRED: { code: "unauthenticated", status: 401, message: "the access token has expired" },
  TOKEN_NOT_YET_VALID: { code: "unauthenticated", status: 401, message: "the access token is not valid yet" },
  PRINCIPAL_INACTIVE: { code: "unauthenticated", status: 401, message: "this account is not active" },
  PRINCIPAL_LOCKED: { code: "unauthenticated", status: 401, message: "this account is locked for a time" },
  IDENTITY_INACTIVE: { code: "unauthenticated", status: 401, message: "this account is not active" },
  SESSION_REVOKED: { code: "unauthenticated", status: 401, message: "the session has ended; sign in again" },
  SESSION_EXPIRED: { code: "unauthenticated", status: 401, message: "the session has expired; sign in again" },
  CREDENTIAL_REVOKED: { code: "unauthenticated", status: 401, message: "the credential was revoked" },
  TOKEN_REVOKED: { code: "unauthenticated", status: 401, message: "the access token was revoked" },
  PERMISSIONS_STALE: {
    code: "unauthenticated",
    status: 401,
    message: "permissions have changed; refresh the access token",
  },
  REVOCATION_STATE_STALE: { code: "unauthenticated", status: 401, message: "the token cannot be checked now" },
  PROOF_OF_POSSESSION_REQUIRED: { code: "unauthenticated", status: 401, message: "a proof of possession is needed" },
  APP_MISMATCH: { code: "permission_denied", status: 403, message: "not allowed here" },
  TENANT_MISMATCH: { code: "permission_denied", status: 403, message: "not allowed here" },
  CONTEXT_MISMATCH: { code: "permission_denied", status: 403, message: "not allowed here" },
  TENANT_REQUIRED: { code: "permission_denied", status: 403, message: "a tenant is needed" },
  MEMBERSHIP_INACTIVE: { code: "permission_denied", status: 403, message: "no active membership" },
  TENANT_SUSPENDED: { code: "permission_denied", status: 403, message: "suspended" },
  PRINCIPAL_KIND_NOT_ALLOWED: { code: "permission_denied", status: 403, message: "this kind of caller is not allowed" },
  MISSING_SCOPE: { code: "permission_denied", status: 403, message: "a scope is missing" },
  MISSING_PERMISSION: { code: "permission_denied", status: 403, message: "a permission is missing" },
  MISSING_ROLE: { code: "permission_denied", status: 403, message: "a role is missing" },
  STEP_UP_REQUIRED: { code: "permission_denied", status: 403, message: "sign in again to do this" },
  RESOURCE_NOT_GRANTED: { code: "permission_denied", status: 403, message: "not allowed here" },
  RESOURCE_UNRESOLVED: { code: "permission_denied", status: 403, message: "not allowed here" },
  ACTOR_REQUIRED: { code: "permission_denied", status: 403, message: "only a service acting for a user may do this" },
  ACTOR_NOT_ALLOWED: { code: "permission_denied", status: 403, message: "this service may not act for the user here" },
  DELEGATION_EXPIRED: { code: "permission_denied", status: 403, message: "the delegation has ended" },
  DELEGATION_CHAIN_TOO_DEEP: { code: "permission_denied", status: 403, message: "too many services act for the user" },
  JOB_MISMATCH: { code: "permission_denied", status: 403, message: "the delegation is for another job" },
  ENVELOPE_MALFORMED: { code: "unauthenticated", status: 401, message: "the envelope cannot be read" },
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
  ENVELOPE_TOO_LONG_LIVED: { code: "unauthenticated", status: 401, message: "the envelope would live too long" },
  ENVELOPE_MESSAGE_ALTERED: {
    code: "unauthenticated",
    status: 401,
    message: "the message is not the one that was sealed",
  },
  ENVELOPE_CHAIN_BROKEN: {
    code: "unauthenticated",
    status: 401,
    message: "the envelope does not follow from those before it",
  },
  ENVELOPE_SENDER_NOT_ALLOWED: { code: "permission_denied", status: 403, message: "the sender may not post here" },
  ENVELOPE_MAILBOX_MISMATCH: { code: "permission_denied", status: 403, message: "the envelope is for another mailbox" },
  ENVELOPE_REPLAYED: { code: "permission_denied", status: 403, message: "the envelope was handled before" },
  ENVELOPE_HOP_LIMIT: { code: "permission_denied", status: 403, message: "the message was forwarded too often" },
  ENVELOPE_NOT_FORWARDERS: {
    code: "permission_denied",
    status: 403,
    message: "only its receiver forwards an envelope",
  },
  ENVELOPE_SCOPES_WIDENED: {
    code: "permission_denied",
    status: 403,
    message: "the envelope carries more scopes than it was given",
  },
  PROVIDER_TOKEN_INVALID: { code: "unauthenticated", status: 401, message: "the provider's credential is not valid" },
  PROVIDER_TOKEN_REPLAYED: {
    code: "unauthenticated",
    status: 401,
    message: "the provider's credential was used before",
  },
  NONCE_MISMATCH: {
    code: "unauthenticated",
    status: 401,
    message: "the provider's credential was made for another sign-in",
  },
  PROVIDER_NOT_CONFIGURED: { code: "failed_precondition", status: 400, message: "the app does not sign in this way" },
  CONNECTION_REQUIRED: {
    code: "invalid_argument",
    status: 400,
    message: "the app has several connections of this provider: name one in `connection`",
  },
  CONNECTION_UNKNOWN: {
    code: "invalid_argument",
    status: 400,
    message: "the app has no connection of this name for this provider and platform",
  },
  PROVIDER_DISABLED: {
    code: "permission_denied",
    status: 403,
    message: "the app does not sign in this way at the moment",
  },
  SIGNUP_DISABLED: {
    code: "permission_denied",
    status: 403,
    message: "the app takes no new people this way; if you have been here before, sign in the way you did, then link",
  },
  AUDIENCE_NOT_REGISTERED: {
    code: "invalid_argument",
    status: 400,
    message: "the app may not ask for tokens for this audience",
  },
  UPSTREAM_UNAVAILABLE: { code: "unavailable", status: 503, message: "the provider does not answer; try again" },
  EMAIL_NOT_VERIFIED: {
    code: "permission_denied",
    status: 403,
    message: "the address is not verified at the provider",
  },
  INVALID_CREDENTIALS: { code: "unauthenticated", status: 401, message: "email or password is wrong" },
  MAGIC_LINK_INVALID: {
    code: "unauthenticated",
    status: 401,
    message: "the link is not valid any more; ask for a new one",
  },
  PROVIDER_ACCOUNT_IN_USE: {
    code: "already_exists",
    status: 409,
    message: "this way of signing in belongs to somebody else",
  },
  LAST_LOGIN_METHOD: {
    code: "failed_precondition",
    status: 409,
    message: "this is the only way to sign in that is left",
  },
  IDENTITY_DELETION_PENDING: {
    code: "permission_denied",
    status: 403,
    message: "this account is about to be deleted; sign in with cancel_deletion to keep it",
  },
  INVITATION_INVALID: { code: "permission_denied", status: 403, message: "the invitation is not valid" },
  REDIRECT_NOT_ALLOWED: { code: "invalid_argument", status: 400, message: "the app does not lead there" },
  LOCKED_OUT: { code: "resource_exhausted", status: 429, message: "too many failures; try again later" },
  REFRESH_TOKEN_INVALID: { code: "unauthenticated", status: 401, message: "sign in again" },
  REFRESH_TOKEN_REUSED: {
    code: "unauthenticated",
    status: 401,
    message: "the refresh token was used before, so its session has ended; sign in again",
  },
  SESSION_NOT_FOUND: { code: "not_found", status: 404, message: "no such session" },
  AMBIGUOUS_CREDENTIAL: {
    code: "invalid_argument",
    status: 400,
    message: "send the refresh token as a cookie or in the body, not both",
  },
  ORIGIN_NOT_ALLOWED: { code: "permission_denied", status: 403, message: "the page's origin is not allowed" },
  CLIENT_INVALID: { code: "unauthenticated", status: 401, message: "the client is not known by these credentials" },
  CLIENT_NOT_ALLOWED: { code: "permission_denied", status: 403, message: "the client may not do this" },
  GRANT_TYPE_UNSUPPORTED: { code: "invalid_argument", status: 400, message: "there is no such grant" },
  AUDIENCE_NOT_ALLOWED: { code: "invalid_argument", status: 400, message: "no token for this audience is given here" },
  SCOPE_NOT_GRANTED: { code: "permission_denied", status: 403, message: "a scope that was asked for is not granted" },
  PAT_INVALID: { code: "unauthenticated", status: 401, message: "the personal access token is not valid" },
  SUBJECT_TOKEN_INVALID: { code: "unauthenticated", status: 401, message: "the subject token cannot be exchanged" },
  DELEGATION_NOT_ALLOWED: {
    code: "permission_denied",
    status: 403,
    message: "no policy lets this service act for this user",
  },
  AUDIENCE_TAKEN: { code: "already_exists", status: 409, message: "another service owns this audience" },
  CREDENTIAL_LIMIT: {
    code: "failed_precondition",
    status: 409,
    message: "there are as many live credentials as there may be",
  },
  ALREADY_EXISTS: { code: "already_exists", status: 409, message: "there is one already" },
  STATE_CONFLICT: { code: "failed_precondition", status: 409, message: "not possible in its state" },
  IN_USE: { code: "failed_precondition", status: 409, message: "something still needs it" },
  OUTPUT_ONLY_FIELD: { code: "invalid_argument", status: 400, message: "the field is not yours to set" },
  SNAPSHOT_OUTDATED: { code: "aborted", status: 409, message: "permissions have changed since this version" },
  GRANT_LIMIT: { code: "failed_precondition", status: 409, message: "there are as many grants as there may be" },
  SNAPSHOT_TOO_LARGE: { code: "resource_exhausted", status: 507, message: "there is too much to tell" },
  MALFORMED_REQUEST: { code: "invalid_argument", status: 400, message: "the request cannot be read" },
  UNKNOWN_FIELD: { code: "invalid_argument", status: 400, message: "the request has an unknown field" },
  DUPLICATE_FIELD: { code: "invalid_argument", status: 400, message: "the request has a field twice" },
  INVALID_FIELD: { code: "invalid_argument", status: 400, message: "a field has a value that is not allowed" },
  FIELD_CONFLICT: { code: "invalid_argument", status: 400, message: "the path and the body contradict each other" },
  NESTING_TOO_DEEP: { code: "invalid_argument", status: 400, message: "the request nests too deep" },
  BODY_TOO_LARGE: { code: "resource_exhausted", status: 413, message: "the request is too large" },
  UNSUPPORTED_MEDIA_TYPE: { code: "invalid_argument", status: 415, message: "the content type is not taken here" },
  METHOD_UNKNOWN: { code: "unimplemented", status: 404, message: "no such method" },
  NOT_FOUND: { code: "not_found", status: 404, message: "not found" },
  RATE_LIMITED: { code: "resource_exhausted", status: 429, message: "too many requests; try again later" },
  DEADLINE_EXCEEDED: { code: "deadline_exceeded", status: 504, message: "the deadline has passed" },
  CANCELED: { code: "canceled", status: 499, message: "the call was canceled" },
  UNAVAILABLE: { code: "unavailable", status: 503, message: "try again later" },
  INTERNAL: { code: "internal", status: 500, message: "internal error" },
  DEVICE_REQUIRED: {
    code: "unauthenticated",
    status: 401,
    message: "register this device, then refresh the access token",
  },
  DEVICE_PROOF_INVALID: {
    code: "unauthenticated",
    status: 401,
    message: "the device's proof is not valid for this call",
  },
  DEVICE_REVOKED: { code: "permission_denied", status: 403, message: "this device was revoked" },
  DEVICE_KEY_TAKEN: { code: "already_exists", status: 409, message: "the key is in use" },
  CREDENTIAL_INVALID: {
    code: "invalid_argument",
    status: 400,
    message: "the device's request or credential is not valid",
  },
  CREDENTIAL_REFUSED: { code: "permission_denied", status: 403, message: "a device's credential is not accepted" },
  PROOF_REFUSED: { code: "permission_denied", status: 403, message: "the membership proof is not accepted" },
  PROOF_STALE: { code: "permission_denied", status: 403, message: "the membership proof is of another state" },
  GHOST_MEMBER: { code: "permission_denied", status: 403, message: "the commit adds a member that was not authorized" },
  NOT_MEMBER: { code: "permission_denied", status: 403, message: "this device is not a member" },
  MEMBERSHIP_CHANGE_NOT_ALLOWED: {
    code: "permission_denied",
    status: 403,
    message: "this change of members is not allowed",
  },
  KEY_PACKAGE_INVALID: { code: "invalid_argument", status: 400, message: "the key package is not valid" },
  KEY_PACKAGE_DUPLICATE: { code: "already_exists", status: 409, message: "the key package was used before" },
  KEY_PACKAGE_NOT_CLAIMED: { code: "failed_precondition", status: 400, message: "the key package was not claimed" },
  NO_KEY_PACKAGE: { code: "failed_precondition", status: 400, message: "no key package is available" },
  WELCOME_ALREADY_CONSUMED: { code: "already_exists", status: 409, message: "the welcome was consumed already" },
  WELCOME_RECIPIENT_MISMATCH: {
    code: "invalid_argument",
    status: 400,
    message: "the welcome is not for the devices that are added",
  },
  GROUP_INFO_MISMATCH: { code: "invalid_argument", status: 400, message: "group info or tree do not fit the commit" },
  MLS_MALFORMED: { code: "invalid_argument", status: 400, message: "malformed MLS message" },
  MLS_NON_CANONICAL: { code: "invalid_argument", status: 400, message: "MLS message not in its one encoding" },
  MLS_WRONG_WIRE_FORMAT: { code: "invalid_argument", status: 400, message: "not the wire format for this" },
  MLS_WRONG_GROUP: { code: "invalid_argument", status: 400, message: "the message is of another group" },
  ENVELOPE_INVALID: { code: "invalid_argument", status: 400, message: "the message's authenticated data is not valid" },
  COMMIT_CONFLICT: { code: "aborted", status: 409, message: "another commit was first" },
  STALE_EPOCH: { code: "aborted", status: 409, message: "the epoch has passed" },
  FUTURE_EPOCH: { code: "aborted", status: 409, message: "the epoch is not reached" },
  IDEMPOTENCY_MISMATCH: { code: "already_exists", status: 409, message: "the key was used for another request" },
  COMMIT_REQUIRED: {
    code: "failed_precondition",
    status: 400,
    message: "a change of members has to be committed first",
  },
  CONVERSATION_QUARANTINED: { code: "failed_precondition", status: 400, message: "the conversation is quarantined" },
  CONVERSATION_CLOSED: { code: "failed_precondition", status: 400, message: "the conversation is closed" },
  NOTHING_TO_DO: { code: "failed_precondition", status: 400, message: "there is nothing left to do" },
  DIRECTIVE_LEASED: { code: "failed_precondition", status: 400, message: "another device is at it" },
  RESET_NOT_NEEDED: {
    code: "failed_precondition",
    status: 400,
    message: "a member device that can add this device was online within the last minute: wait for its welcome",
  },
  LOG_PRUNED: { code: "failed_precondition", status: 400, message: "the log does not reach back that far" },
  LIMIT_EXCEEDED: { code: "resource_exhausted", status: 429, message: "a limit is reached" },
  STORAGE_FULL: { code: "resource_exhausted", status: 507, message: "no room left" },
  ATTACHMENT_COMPLETE: { code: "failed_precondition", status: 400, message: "the attachment is complete" },
  ATTACHMENT_INCOMPLETE: { code: "failed_precondition", status: 400, message: "the attachment is not complete" },
  PLACE_HELD: { code: "unavailable", status: 503, message: "try again in a moment" },
  CALLER_REFUSED: { code: "permission_denied", status: 403, message: "the caller's token is not taken" },
  NOT_THE_CALLERS: { code: "permission_denied", status: 403, message: "that is not the caller's" },
} as const satisfies Record<string, Refusal>

export type Reason = keyof typeof refusals

const isRefused = Symbol.for("signet.Refused")

/**
 * An expected refusal, thrown where the call ends. Everything else that is thrown is a fault and is told to nobody.
 *
 * @param detail Facts for the caller (ErrorInfo.metadata): names and numbers of the request, never secrets.
 */
export class Refused extends Error {
  /** Of another copy of this module, too: a process that loads the guard by `import` and by `require` has two. */
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
