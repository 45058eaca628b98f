package dev.signet.guard;

/**
 * Why something is refused: the same name on every transport. docs/errors.md says what to do about each. Written by
 * test/guards/java/write-reasons.ts from the issuer's own table.
 */
public enum Reason {
  NO_CREDENTIAL("unauthenticated", 401, "sign in first"),
  MALFORMED_CREDENTIAL("unauthenticated", 401, "the Authorization header is not one bearer token"),
  PAT_NOT_BEARER("unauthenticated", 401, "exchange the personal access token for an access token first"),
  PROVIDER_TOKEN_NOT_ACCEPTED("unauthenticated", 401, "sign in with the provider's token first; it is no access token"),
  REFRESH_TOKEN_NOT_BEARER("unauthenticated", 401, "a refresh token is no access token"),
  SIGNATURE_INVALID("unauthenticated", 401, "the access token is not valid"),
  ALG_NOT_ALLOWED("unauthenticated", 401, "the access token is not valid"),
  TYP_NOT_ALLOWED("unauthenticated", 401, "the token is not an access token"),
  KEY_UNKNOWN("unauthenticated", 401, "the access token is not valid"),
  ISSUER_MISMATCH("unauthenticated", 401, "the access token is of another issuer"),
  AUDIENCE_MISMATCH("unauthenticated", 401, "the access token is for another service"),
  TOKEN_EXPIRED("unauthenticated", 401, "the access token has expired"),
  TOKEN_NOT_YET_VALID("unauthenticated", 401, "the access token is not valid yet"),
  PRINCIPAL_INACTIVE("unauthenticated", 401, "this account is not active"),
  IDENTITY_INACTIVE("unauthenticated", 401, "this account is not active"),
  SESSION_REVOKED("unauthenticated", 401, "the session has ended; sign in again"),
  SESSION_EXPIRED("unauthenticated", 401, "the session has expired; sign in again"),
  CREDENTIAL_REVOKED("unauthenticated", 401, "the credential was revoked"),
  TOKEN_REVOKED("unauthenticated", 401, "the access token was revoked"),
  PERMISSIONS_STALE("unauthenticated", 401, "permissions have changed; refresh the access token"),
  REVOCATION_STATE_STALE("unauthenticated", 401, "the token cannot be checked now"),
  PROOF_OF_POSSESSION_REQUIRED("unauthenticated", 401, "a proof of possession is needed"),
  APP_MISMATCH("permission_denied", 403, "not allowed here"),
  TENANT_MISMATCH("permission_denied", 403, "not allowed here"),
  CONTEXT_MISMATCH("permission_denied", 403, "not allowed here"),
  TENANT_REQUIRED("permission_denied", 403, "a tenant is needed"),
  MEMBERSHIP_INACTIVE("permission_denied", 403, "no active membership"),
  TENANT_SUSPENDED("permission_denied", 403, "suspended"),
  PRINCIPAL_KIND_NOT_ALLOWED("permission_denied", 403, "this kind of caller is not allowed"),
  MISSING_SCOPE("permission_denied", 403, "a scope is missing"),
  MISSING_PERMISSION("permission_denied", 403, "a permission is missing"),
  MISSING_ROLE("permission_denied", 403, "a role is missing"),
  STEP_UP_REQUIRED("permission_denied", 403, "sign in again to do this"),
  RESOURCE_NOT_GRANTED("permission_denied", 403, "not allowed here"),
  RESOURCE_UNRESOLVED("permission_denied", 403, "not allowed here"),
  ACTOR_REQUIRED("permission_denied", 403, "only a service acting for a user may do this"),
  ACTOR_NOT_ALLOWED("permission_denied", 403, "this service may not act for the user here"),
  DELEGATION_EXPIRED("permission_denied", 403, "the delegation has ended"),
  DELEGATION_CHAIN_TOO_DEEP("permission_denied", 403, "too many services act for the user"),
  JOB_MISMATCH("permission_denied", 403, "the delegation is for another job"),
  ENVELOPE_MALFORMED("unauthenticated", 401, "the envelope cannot be read"),
  ENVELOPE_SIGNATURE_INVALID("unauthenticated", 401, "the envelope's signature is not valid"),
  ENVELOPE_CERTIFICATE_INVALID("unauthenticated", 401, "the sender's certificate is not valid"),
  ENVELOPE_CERTIFICATE_EXPIRED("unauthenticated", 401, "the sender's certificate has expired"),
  ENVELOPE_KEY_REVOKED("unauthenticated", 401, "the sender's key was revoked"),
  ENVELOPE_EXPIRED("unauthenticated", 401, "the envelope has expired"),
  ENVELOPE_NOT_YET_VALID("unauthenticated", 401, "the envelope is not valid yet"),
  ENVELOPE_TOO_LONG_LIVED("unauthenticated", 401, "the envelope would live too long"),
  ENVELOPE_MESSAGE_ALTERED("unauthenticated", 401, "the message is not the one that was sealed"),
  ENVELOPE_CHAIN_BROKEN("unauthenticated", 401, "the envelope does not follow from those before it"),
  ENVELOPE_SENDER_NOT_ALLOWED("permission_denied", 403, "the sender may not post here"),
  ENVELOPE_MAILBOX_MISMATCH("permission_denied", 403, "the envelope is for another mailbox"),
  ENVELOPE_REPLAYED("permission_denied", 403, "the envelope was handled before"),
  ENVELOPE_HOP_LIMIT("permission_denied", 403, "the message was forwarded too often"),
  ENVELOPE_NOT_FORWARDERS("permission_denied", 403, "only its receiver forwards an envelope"),
  ENVELOPE_SCOPES_WIDENED("permission_denied", 403, "the envelope carries more scopes than it was given"),
  PROVIDER_TOKEN_INVALID("unauthenticated", 401, "the provider's credential is not valid"),
  PROVIDER_TOKEN_REPLAYED("unauthenticated", 401, "the provider's credential was used before"),
  NONCE_MISMATCH("unauthenticated", 401, "the provider's credential was made for another sign-in"),
  PROVIDER_NOT_CONFIGURED("failed_precondition", 400, "the app does not sign in this way"),
  PROVIDER_DISABLED("permission_denied", 403, "the app does not sign in this way at the moment"),
  SIGNUP_DISABLED(
      "permission_denied", 403, "the app takes no new people this way; if you have been here before, sign in the way you did, then link"),
  AUDIENCE_NOT_REGISTERED("invalid_argument", 400, "the app may not ask for tokens for this audience"),
  UPSTREAM_UNAVAILABLE("unavailable", 503, "the provider does not answer; try again"),
  EMAIL_NOT_VERIFIED("permission_denied", 403, "the address is not verified at the provider"),
  INVALID_CREDENTIALS("unauthenticated", 401, "email or password is wrong"),
  MAGIC_LINK_INVALID("unauthenticated", 401, "the link is not valid any more; ask for a new one"),
  PROVIDER_ACCOUNT_IN_USE("already_exists", 409, "this way of signing in belongs to somebody else"),
  LAST_LOGIN_METHOD("failed_precondition", 409, "this is the only way to sign in that is left"),
  IDENTITY_DELETION_PENDING(
      "permission_denied", 403, "this account is about to be deleted; sign in with cancel_deletion to keep it"),
  INVITATION_INVALID("permission_denied", 403, "the invitation is not valid"),
  REDIRECT_NOT_ALLOWED("invalid_argument", 400, "the app does not lead there"),
  LOCKED_OUT("resource_exhausted", 429, "too many failures; try again later"),
  REFRESH_TOKEN_INVALID("unauthenticated", 401, "sign in again"),
  REFRESH_TOKEN_REUSED(
      "unauthenticated", 401, "the refresh token was used before, so its session has ended; sign in again"),
  SESSION_NOT_FOUND("not_found", 404, "no such session"),
  AMBIGUOUS_CREDENTIAL("invalid_argument", 400, "send the refresh token as a cookie or in the body, not both"),
  ORIGIN_NOT_ALLOWED("permission_denied", 403, "the page's origin is not allowed"),
  CLIENT_INVALID("unauthenticated", 401, "the client is not known by these credentials"),
  CLIENT_NOT_ALLOWED("permission_denied", 403, "the client may not do this"),
  GRANT_TYPE_UNSUPPORTED("invalid_argument", 400, "there is no such grant"),
  AUDIENCE_NOT_ALLOWED("invalid_argument", 400, "no token for this audience is given here"),
  SCOPE_NOT_GRANTED("permission_denied", 403, "a scope that was asked for is not granted"),
  PAT_INVALID("unauthenticated", 401, "the personal access token is not valid"),
  SUBJECT_TOKEN_INVALID("unauthenticated", 401, "the subject token cannot be exchanged"),
  DELEGATION_NOT_ALLOWED("permission_denied", 403, "no policy lets this service act for this user"),
  AUDIENCE_TAKEN("already_exists", 409, "another service owns this audience"),
  CREDENTIAL_LIMIT("failed_precondition", 409, "there are as many live credentials as there may be"),
  ALREADY_EXISTS("already_exists", 409, "there is one already"),
  STATE_CONFLICT("failed_precondition", 409, "not possible in its state"),
  IN_USE("failed_precondition", 409, "something still needs it"),
  OUTPUT_ONLY_FIELD("invalid_argument", 400, "the field is not yours to set"),
  SNAPSHOT_OUTDATED("aborted", 409, "permissions have changed since this version"),
  GRANT_LIMIT("failed_precondition", 409, "there are as many grants as there may be"),
  SNAPSHOT_TOO_LARGE("resource_exhausted", 507, "there is too much to tell"),
  MALFORMED_REQUEST("invalid_argument", 400, "the request cannot be read"),
  UNKNOWN_FIELD("invalid_argument", 400, "the request has an unknown field"),
  DUPLICATE_FIELD("invalid_argument", 400, "the request has a field twice"),
  INVALID_FIELD("invalid_argument", 400, "a field has a value that is not allowed"),
  FIELD_CONFLICT("invalid_argument", 400, "the path and the body contradict each other"),
  NESTING_TOO_DEEP("invalid_argument", 400, "the request nests too deep"),
  BODY_TOO_LARGE("resource_exhausted", 413, "the request is too large"),
  UNSUPPORTED_MEDIA_TYPE("invalid_argument", 415, "the content type is not taken here"),
  METHOD_UNKNOWN("unimplemented", 404, "no such method"),
  NOT_FOUND("not_found", 404, "not found"),
  RATE_LIMITED("resource_exhausted", 429, "too many requests; try again later"),
  DEADLINE_EXCEEDED("deadline_exceeded", 504, "the deadline has passed"),
  CANCELED("canceled", 499, "the call was canceled"),
  UNAVAILABLE("unavailable", 503, "try again later"),
  INTERNAL("internal", 500, "internal error"),
  DEVICE_REQUIRED("unauthenticated", 401, "register this device, then refresh the access token"),
  DEVICE_PROOF_INVALID("unauthenticated", 401, "the device's proof is not valid for this call"),
  DEVICE_REVOKED("permission_denied", 403, "this device was revoked"),
  DEVICE_KEY_TAKEN("already_exists", 409, "the key is in use"),
  CREDENTIAL_INVALID("invalid_argument", 400, "the device's request or credential is not valid"),
  CREDENTIAL_REFUSED("permission_denied", 403, "a device's credential is not accepted"),
  PROOF_REFUSED("permission_denied", 403, "the membership proof is not accepted"),
  PROOF_STALE("permission_denied", 403, "the membership proof is of another state"),
  GHOST_MEMBER("permission_denied", 403, "the commit adds a member that was not authorized"),
  NOT_MEMBER("permission_denied", 403, "this device is not a member"),
  MEMBERSHIP_CHANGE_NOT_ALLOWED("permission_denied", 403, "this change of members is not allowed"),
  KEY_PACKAGE_INVALID("invalid_argument", 400, "the key package is not valid"),
  KEY_PACKAGE_DUPLICATE("already_exists", 409, "the key package was used before"),
  KEY_PACKAGE_NOT_CLAIMED("failed_precondition", 400, "the key package was not claimed"),
  NO_KEY_PACKAGE("failed_precondition", 400, "no key package is available"),
  WELCOME_ALREADY_CONSUMED("already_exists", 409, "the welcome was consumed already"),
  WELCOME_RECIPIENT_MISMATCH("invalid_argument", 400, "the welcome is not for the devices that are added"),
  GROUP_INFO_MISMATCH("invalid_argument", 400, "group info or tree do not fit the commit"),
  MLS_MALFORMED("invalid_argument", 400, "malformed MLS message"),
  MLS_NON_CANONICAL("invalid_argument", 400, "MLS message not in its one encoding"),
  MLS_WRONG_WIRE_FORMAT("invalid_argument", 400, "not the wire format for this"),
  MLS_WRONG_GROUP("invalid_argument", 400, "the message is of another group"),
  ENVELOPE_INVALID("invalid_argument", 400, "the message's authenticated data is not valid"),
  COMMIT_CONFLICT("aborted", 409, "another commit was first"),
  STALE_EPOCH("aborted", 409, "the epoch has passed"),
  FUTURE_EPOCH("aborted", 409, "the epoch is not reached"),
  IDEMPOTENCY_MISMATCH("already_exists", 409, "the key was used for another request"),
  COMMIT_REQUIRED("failed_precondition", 400, "a change of members has to be committed first"),
  CONVERSATION_QUARANTINED("failed_precondition", 400, "the conversation is quarantined"),
  CONVERSATION_CLOSED("failed_precondition", 400, "the conversation is closed"),
  NOTHING_TO_DO("failed_precondition", 400, "there is nothing left to do"),
  DIRECTIVE_LEASED("failed_precondition", 400, "another device is at it"),
  LOG_PRUNED("failed_precondition", 400, "the log does not reach back that far"),
  LIMIT_EXCEEDED("resource_exhausted", 429, "a limit is reached"),
  STORAGE_FULL("resource_exhausted", 507, "no room left"),
  ATTACHMENT_COMPLETE("failed_precondition", 400, "the attachment is complete"),
  ATTACHMENT_INCOMPLETE("failed_precondition", 400, "the attachment is not complete"),
  PLACE_HELD("unavailable", 503, "try again in a moment"),
  CALLER_REFUSED("permission_denied", 403, "the caller's token is not taken"),
  NOT_THE_CALLERS("permission_denied", 403, "that is not the caller's");

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
