package dev.signet.guard;

/**
 * Why something is refused: the same name on every transport. docs/reference/errors.md says what to do about each.
 * test/interop/guard-java/write-reasons.ts writes this file from the issuer's own table.
 */
public enum Reason {
  NO_CREDENTIAL("unauthenticated", 401, "the request has no access token: sign in first"),
  MALFORMED_CREDENTIAL("unauthenticated", 401, "the Authorization header must be one bearer token"),
  PAT_NOT_BEARER("unauthenticated", 401, "exchange the personal access token for an access token first"),
  PROVIDER_TOKEN_NOT_ACCEPTED(
      "unauthenticated",
      401,
      "a provider's token is not an access token: sign in with it first"),
  REFRESH_TOKEN_NOT_BEARER("unauthenticated", 401, "a refresh token is not an access token: refresh first"),
  SIGNATURE_INVALID("unauthenticated", 401, "the access token is not valid"),
  ALG_NOT_ALLOWED("unauthenticated", 401, "the access token is not valid"),
  TYP_NOT_ALLOWED("unauthenticated", 401, "the token is not an access token"),
  KEY_UNKNOWN("unauthenticated", 401, "the access token is not valid"),
  ISSUER_MISMATCH("unauthenticated", 401, "the access token is from another issuer"),
  AUDIENCE_MISMATCH("unauthenticated", 401, "the access token is for another service"),
  TOKEN_EXPIRED("unauthenticated", 401, "the access token has expired"),
  TOKEN_NOT_YET_VALID("unauthenticated", 401, "the access token is not valid yet"),
  PRINCIPAL_INACTIVE("unauthenticated", 401, "this account is not active"),
  PRINCIPAL_LOCKED("unauthenticated", 401, "an administrator has locked this account temporarily"),
  IDENTITY_INACTIVE("unauthenticated", 401, "this account is not active"),
  SESSION_REVOKED("unauthenticated", 401, "the session was revoked: sign in again"),
  SESSION_EXPIRED("unauthenticated", 401, "the session has expired: sign in again"),
  CREDENTIAL_REVOKED("unauthenticated", 401, "the credential was revoked"),
  TOKEN_REVOKED("unauthenticated", 401, "the access token was revoked"),
  PERMISSIONS_STALE("unauthenticated", 401, "permissions have changed: refresh the access token"),
  REVOCATION_STATE_STALE(
      "unauthenticated",
      401,
      "the revocation state is too old to check this token: try again later"),
  PROOF_OF_POSSESSION_REQUIRED("unauthenticated", 401, "this token requires a proof of possession"),
  APP_MISMATCH("permission_denied", 403, "the access token is for another app"),
  TENANT_MISMATCH("permission_denied", 403, "the access token is for another tenant"),
  CONTEXT_MISMATCH("permission_denied", 403, "the access token is for another context"),
  TENANT_REQUIRED("permission_denied", 403, "the access token has no tenant: sign in with tenant_id"),
  MEMBERSHIP_INACTIVE("permission_denied", 403, "the account has no active membership here"),
  TENANT_SUSPENDED("permission_denied", 403, "the app or tenant is suspended"),
  PRINCIPAL_KIND_NOT_ALLOWED("permission_denied", 403, "this kind of caller is not allowed"),
  MISSING_SCOPE("permission_denied", 403, "the access token does not have the required scope"),
  MISSING_PERMISSION("permission_denied", 403, "the caller does not have the required permission"),
  MISSING_ROLE("permission_denied", 403, "the caller does not have the required role"),
  STEP_UP_REQUIRED("permission_denied", 403, "this call requires a recent sign-in: sign in again"),
  RESOURCE_NOT_GRANTED("permission_denied", 403, "the caller has no grant for this resource"),
  RESOURCE_UNRESOLVED("permission_denied", 403, "the resource does not exist or is not accessible"),
  ACTOR_REQUIRED("permission_denied", 403, "this call requires a service that acts for a user"),
  ACTOR_NOT_ALLOWED("permission_denied", 403, "this service is not allowed to act for the user here"),
  DELEGATION_EXPIRED("permission_denied", 403, "the delegation has expired"),
  DELEGATION_CHAIN_TOO_DEEP("permission_denied", 403, "the delegation chain is too long"),
  JOB_MISMATCH("permission_denied", 403, "the delegation is for another job"),
  ENVELOPE_MALFORMED("unauthenticated", 401, "the envelope is malformed"),
  ENVELOPE_SIGNATURE_INVALID("unauthenticated", 401, "the envelope's signature is not valid"),
  ENVELOPE_CERTIFICATE_INVALID("unauthenticated", 401, "the sender's certificate is not valid"),
  ENVELOPE_CERTIFICATE_EXPIRED("unauthenticated", 401, "the sender's certificate has expired"),
  ENVELOPE_KEY_REVOKED("unauthenticated", 401, "the sender's key was revoked"),
  ENVELOPE_EXPIRED("unauthenticated", 401, "the envelope has expired"),
  ENVELOPE_NOT_YET_VALID("unauthenticated", 401, "the envelope is not valid yet"),
  ENVELOPE_TOO_LONG_LIVED("unauthenticated", 401, "the envelope's lifetime exceeds seven days"),
  ENVELOPE_MESSAGE_ALTERED("unauthenticated", 401, "the message does not match its envelope"),
  ENVELOPE_CHAIN_BROKEN("unauthenticated", 401, "the envelope does not match the previous envelope"),
  ENVELOPE_SENDER_NOT_ALLOWED("permission_denied", 403, "the sender is not allowed to post to this mailbox"),
  ENVELOPE_MAILBOX_MISMATCH("permission_denied", 403, "the envelope is for another mailbox"),
  ENVELOPE_REPLAYED("permission_denied", 403, "the envelope was already processed"),
  ENVELOPE_HOP_LIMIT("permission_denied", 403, "the message was forwarded more than 16 times"),
  ENVELOPE_NOT_FORWARDERS("permission_denied", 403, "only the receiver of an envelope can forward it"),
  ENVELOPE_SCOPES_WIDENED("permission_denied", 403, "the envelope has scopes that it was not granted"),
  PROVIDER_TOKEN_INVALID("unauthenticated", 401, "the provider's credential is not valid"),
  PROVIDER_TOKEN_REPLAYED("unauthenticated", 401, "the provider's credential was already used: get a new one"),
  NONCE_MISMATCH("unauthenticated", 401, "the provider's credential was issued for another sign-in"),
  PROVIDER_NOT_CONFIGURED("failed_precondition", 400, "the app has no client for this provider and platform"),
  CONNECTION_REQUIRED("invalid_argument", 400, "the app has several connections for this provider: set `connection`"),
  CONNECTION_UNKNOWN("invalid_argument", 400, "the app has no such connection for this provider and platform"),
  PROVIDER_DISABLED("permission_denied", 403, "the app's client for this provider is disabled"),
  SIGNUP_DISABLED(
      "permission_denied",
      403,
      "the app does not allow sign-up with this method: if you have an account, sign in as usual, then link this method"),
  AUDIENCE_NOT_REGISTERED("invalid_argument", 400, "the app is not registered for this audience"),
  UPSTREAM_UNAVAILABLE("unavailable", 503, "the provider does not respond: try again later"),
  EMAIL_NOT_VERIFIED("permission_denied", 403, "the email address is not verified at the provider"),
  INVALID_CREDENTIALS("unauthenticated", 401, "email or password is wrong"),
  MAGIC_LINK_INVALID("unauthenticated", 401, "the link is invalid, used or expired: request a new one"),
  PROVIDER_ACCOUNT_IN_USE("already_exists", 409, "this provider account belongs to another identity"),
  LAST_LOGIN_METHOD("failed_precondition", 409, "this is the only sign-in method: link another one first"),
  IDENTITY_DELETION_PENDING(
      "permission_denied",
      403,
      "this account is scheduled for deletion: sign in with cancel_deletion to keep it"),
  INVITATION_INVALID("permission_denied", 403, "the invitation is invalid, used or expired"),
  REDIRECT_NOT_ALLOWED("invalid_argument", 400, "redirect_uri is not in the app's list"),
  LOCKED_OUT("resource_exhausted", 429, "too many failed attempts: try again later"),
  REFRESH_TOKEN_INVALID("unauthenticated", 401, "the refresh token is unknown, expired or revoked: sign in again"),
  REFRESH_TOKEN_REUSED(
      "unauthenticated",
      401,
      "the refresh token was used before, so its session was revoked: sign in again"),
  SESSION_NOT_FOUND("not_found", 404, "the session was not found"),
  AMBIGUOUS_CREDENTIAL("invalid_argument", 400, "send the refresh token as a cookie or in the body, not both"),
  ORIGIN_NOT_ALLOWED("permission_denied", 403, "the page's origin is not in the app's allowed_origins"),
  CLIENT_INVALID("unauthenticated", 401, "client authentication failed"),
  CLIENT_NOT_ALLOWED("permission_denied", 403, "the client is not allowed to do this"),
  GRANT_TYPE_UNSUPPORTED("invalid_argument", 400, "grant_type is not supported"),
  AUDIENCE_NOT_ALLOWED("invalid_argument", 400, "the client, credential or policy does not allow this audience"),
  SCOPE_NOT_GRANTED("permission_denied", 403, "a requested scope cannot be granted"),
  PAT_INVALID("unauthenticated", 401, "the personal access token is unknown, expired or revoked"),
  SUBJECT_TOKEN_INVALID("unauthenticated", 401, "the subject token cannot be exchanged"),
  DELEGATION_NOT_ALLOWED("permission_denied", 403, "no policy allows this service to act for this user"),
  AUDIENCE_TAKEN("already_exists", 409, "another service owns this audience"),
  CREDENTIAL_LIMIT(
      "failed_precondition",
      409,
      "the account has reached its limit of active credentials: revoke one first"),
  ALREADY_EXISTS("already_exists", 409, "the object already exists"),
  STATE_CONFLICT("failed_precondition", 409, "the object's state does not allow this operation"),
  IN_USE("failed_precondition", 409, "another object still uses this one: remove that first"),
  OUTPUT_ONLY_FIELD("invalid_argument", 400, "only the service sets this field, or it cannot change: omit it"),
  SNAPSHOT_OUTDATED("aborted", 409, "permissions changed after this version: refresh the access token"),
  GRANT_LIMIT(
      "failed_precondition",
      409,
      "the principal has reached the limit of grants in this app: revoke one first"),
  SNAPSHOT_TOO_LARGE(
      "resource_exhausted",
      507,
      "the permission snapshot exceeds the maximum size: reduce the principal's roles"),
  ETAG_MISMATCH("aborted", 409, "the record has changed since it was read: read it again, then apply the change"),
  MALFORMED_REQUEST("invalid_argument", 400, "the request is malformed"),
  UNKNOWN_FIELD("invalid_argument", 400, "the request has an unknown field"),
  DUPLICATE_FIELD("invalid_argument", 400, "a field occurs twice in the request"),
  INVALID_FIELD("invalid_argument", 400, "a field has an invalid value"),
  FIELD_CONFLICT("invalid_argument", 400, "the path and the body have different values for a field"),
  NESTING_TOO_DEEP("invalid_argument", 400, "the request is nested deeper than 32 levels"),
  BODY_TOO_LARGE("resource_exhausted", 413, "the request exceeds the size limit"),
  UNSUPPORTED_MEDIA_TYPE("invalid_argument", 415, "the content type is not supported here"),
  METHOD_UNKNOWN("unimplemented", 404, "the method or route does not exist"),
  NOT_FOUND("not_found", 404, "not found"),
  RATE_LIMITED("resource_exhausted", 429, "too many requests: try again later"),
  DEADLINE_EXCEEDED("deadline_exceeded", 504, "the deadline has passed"),
  CANCELED("canceled", 499, "the call was canceled"),
  UNAVAILABLE("unavailable", 503, "the service is temporarily unavailable: try again later"),
  INTERNAL("internal", 500, "internal error"),
  DEVICE_REQUIRED(
      "unauthenticated",
      401,
      "the access token is not bound to a device: register this device, then refresh the token"),
  DEVICE_PROOF_INVALID("unauthenticated", 401, "the device's proof is not valid for this call"),
  DEVICE_REVOKED("permission_denied", 403, "this device was revoked"),
  DEVICE_KEY_TAKEN("already_exists", 409, "the key belongs to another device"),
  CREDENTIAL_INVALID("invalid_argument", 400, "the device's request or credential is not valid"),
  CREDENTIAL_REFUSED("permission_denied", 403, "a device's credential is not accepted"),
  PROOF_REFUSED("permission_denied", 403, "the membership proof is not accepted"),
  PROOF_STALE("permission_denied", 403, "the membership proof is for another state of the conversation"),
  GHOST_MEMBER("permission_denied", 403, "the commit adds a member that was not authorized"),
  NOT_MEMBER("permission_denied", 403, "this device is not a member of the conversation"),
  MEMBERSHIP_CHANGE_NOT_ALLOWED("permission_denied", 403, "this change of members is not allowed"),
  KEY_PACKAGE_INVALID("invalid_argument", 400, "the key package is not valid"),
  KEY_PACKAGE_DUPLICATE("already_exists", 409, "the init key of the key package was uploaded before"),
  KEY_PACKAGE_NOT_CLAIMED("failed_precondition", 400, "this device has not claimed the key package"),
  NO_KEY_PACKAGE("failed_precondition", 400, "no key package is available"),
  WELCOME_ALREADY_CONSUMED("already_exists", 409, "the welcome was consumed already"),
  WELCOME_RECIPIENT_MISMATCH("invalid_argument", 400, "the welcome is not for the devices that are added"),
  GROUP_INFO_MISMATCH("invalid_argument", 400, "the GroupInfo or ratchet tree does not match the commit"),
  MLS_MALFORMED("invalid_argument", 400, "the MLS message is malformed"),
  MLS_NON_CANONICAL("invalid_argument", 400, "the MLS message is not in its canonical encoding"),
  MLS_WRONG_WIRE_FORMAT("invalid_argument", 400, "the MLS message has the wrong wire format"),
  MLS_WRONG_GROUP("invalid_argument", 400, "the message is for another group"),
  ENVELOPE_INVALID("invalid_argument", 400, "the message's authenticated data is not valid"),
  COMMIT_CONFLICT("aborted", 409, "another commit ended the epoch first"),
  STALE_EPOCH("aborted", 409, "the epoch has passed"),
  FUTURE_EPOCH("aborted", 409, "the conversation has not reached this epoch"),
  IDEMPOTENCY_MISMATCH("already_exists", 409, "the idempotency key was used for another request"),
  COMMIT_REQUIRED("failed_precondition", 400, "a directive must be committed first"),
  CONVERSATION_QUARANTINED("failed_precondition", 400, "the conversation is quarantined"),
  CONVERSATION_CLOSED("failed_precondition", 400, "the conversation is closed"),
  NOTHING_TO_DO("failed_precondition", 400, "the change is already in effect"),
  DIRECTIVE_LEASED(
      "failed_precondition",
      400,
      "another device holds the lease of the directive, or the caller has none"),
  RESET_NOT_NEEDED(
      "failed_precondition",
      400,
      "a member device that can add this device was online within the last minute: wait for its welcome"),
  USER_BLOCKED("failed_precondition", 400, "the caller blocks this user: unblock the user first"),
  LOG_INCOMPLETE("aborted", 409, "the log lacks messages that the caller has read: resubmit them"),
  LOG_PRUNED("failed_precondition", 400, "the log is no longer stored from this sequence number on"),
  LIMIT_EXCEEDED("resource_exhausted", 429, "a limit is exceeded"),
  STORAGE_FULL("resource_exhausted", 507, "the service has no storage left"),
  ATTACHMENT_COMPLETE("failed_precondition", 400, "the attachment is complete and cannot change"),
  ATTACHMENT_INCOMPLETE("failed_precondition", 400, "parts of the attachment are missing"),
  PLACE_HELD("unavailable", 503, "the app or tenant is being moved: try again in a moment"),
  CALLER_REFUSED("permission_denied", 403, "the caller's access token was rejected"),
  NOT_THE_CALLERS("permission_denied", 403, "the request exceeds the caller's authority");

  private final String code;
  private final int status;
  private final String message;

  Reason(String code, int status, String message) {
    this.code = code;
    this.status = status;
    this.message = message;
  }

  /** The canonical status code, by its name in Connect. */
  public String code() {
    return code;
  }

  /** The HTTP status. */
  public int status() {
    return status;
  }

  /** A sentence that may be shown to the caller: no secret, and nothing of other tenants. */
  public String message() {
    return message;
  }
}
