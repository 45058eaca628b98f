import type { FailureReason } from "@signet/client-web"
import type { FailureText, FailureTexts } from "./failures.ts"

const signInAgain = "Sign in again, then repeat the action."
const askAdministrator = "Ask an administrator of the app."
const reload = "Reload the page and look at the current state."
const wait = "Wait a moment, then try again."
const tryAgain = "Try again."
const tokenRefused = { what: "The service does not accept the access token.", next: signInAgain }
const providerRefused = { what: "The provider did not sign you in.", next: tryAgain }
const clientOutdated = { what: "The service does not understand the request.", next: "Reload the page." }

/** One text for several reasons. */
const each = (text: FailureText, ...reasons: readonly FailureReason[]): Partial<Record<FailureReason, FailureText>> =>
  Object.fromEntries(reasons.map((reason) => [reason, text]))

/** English texts of the reasons that a person can meet. docs/reference/errors.md lists every reason. */
export const englishFailures: FailureTexts = {
  other: { what: "The call failed.", next: wait },
  // The caller
  NO_CREDENTIAL: { what: "You are not signed in.", next: "Sign in." },
  NOT_SIGNED_IN: { what: "You are not signed in.", next: "Sign in." },
  TOKEN_EXPIRED: { what: "The access token has expired.", next: signInAgain },
  SESSION_REVOKED: { what: "This session was ended.", next: "Sign in again." },
  SESSION_EXPIRED: { what: "This session has expired.", next: "Sign in again." },
  REFRESH_TOKEN_INVALID: { what: "This session has ended.", next: "Sign in again." },
  REFRESH_TOKEN_REUSED: {
    what: "A copy of this session's token was used, so the session was ended.",
    next: "Sign in again, and check your other sessions.",
  },
  PRINCIPAL_INACTIVE: { what: "This account is suspended or deactivated.", next: askAdministrator },
  PRINCIPAL_LOCKED: {
    what: "This account is locked for a time.",
    next: "Wait until the lock expires, or ask an administrator.",
  },
  IDENTITY_INACTIVE: { what: "This person's identity is not active.", next: askAdministrator },
  IDENTITY_DELETION_PENDING: {
    what: "This account is going to be deleted.",
    next: "Cancel the deletion when you sign in, or let it happen.",
  },
  PERMISSIONS_STALE: { what: "Permissions have changed since the page was loaded.", next: reload },
  STEP_UP_REQUIRED: { what: "This action needs a recent sign-in.", next: signInAgain },
  ...each(
    tokenRefused,
    "MALFORMED_CREDENTIAL",
    "PAT_NOT_BEARER",
    "PROVIDER_TOKEN_NOT_ACCEPTED",
    "REFRESH_TOKEN_NOT_BEARER",
    "SIGNATURE_INVALID",
    "ALG_NOT_ALLOWED",
    "TYP_NOT_ALLOWED",
    "KEY_UNKNOWN",
    "ISSUER_MISMATCH",
    "AUDIENCE_MISMATCH",
    "CREDENTIAL_REVOKED",
    "TOKEN_REVOKED",
    "AMBIGUOUS_CREDENTIAL",
  ),
  TOKEN_NOT_YET_VALID: { what: "The clocks of service and issuer differ.", next: wait },
  REVOCATION_STATE_STALE: { what: "The service cannot check revocations at the moment.", next: wait },
  // The right to do it
  MISSING_SCOPE: {
    what: "Your membership does not have the scope that this action needs.",
    next: "Ask an administrator who holds the scope to add it to your membership.",
  },
  SCOPE_NOT_GRANTED: {
    what: "A scope cannot be given: you do not hold it, or the app does not have it.",
    next: "Choose only scopes that you hold.",
  },
  MISSING_PERMISSION: { what: "No grant gives the permission that this action needs.", next: askAdministrator },
  MISSING_ROLE: { what: "You do not hold the role that this action needs.", next: askAdministrator },
  RESOURCE_UNRESOLVED: {
    what: "The object does not exist, or it is outside of what you administer.",
    next: "Check the id. The answer is the same for both cases.",
  },
  APP_MISMATCH: {
    what: "Only administrators of the installation can do this.",
    next: "Sign in to the installation's app.",
  },
  RESOURCE_NOT_GRANTED: { what: "No grant covers this object.", next: askAdministrator },
  TENANT_REQUIRED: { what: "This action needs a sign-in to a tenant.", next: "Sign in to the tenant." },
  CONTEXT_MISMATCH: { what: "The object belongs to another context.", next: "Sign in to that context." },
  TENANT_MISMATCH: { what: "The object belongs to another tenant.", next: "Sign in to that tenant." },
  MEMBERSHIP_INACTIVE: { what: "The membership is not active.", next: askAdministrator },
  TENANT_SUSPENDED: { what: "The app or the tenant is suspended.", next: "Resume it first, if you administer it." },
  PRINCIPAL_KIND_NOT_ALLOWED: { what: "This action needs a signed-in person.", next: signInAgain },
  CLIENT_NOT_ALLOWED: {
    what: "This app may not manage identities.",
    next: "An administrator of the installation can set “manages identity”.",
  },
  // The request
  INVALID_FIELD: { what: "A field has a value that is not allowed.", next: "Correct the field and try again." },
  OUTPUT_ONLY_FIELD: { what: "A field cannot be set, or cannot change after creation.", next: "Leave it out." },
  ALREADY_EXISTS: { what: "Such an object exists already.", next: "Choose another name or key." },
  AUDIENCE_TAKEN: { what: "Another service owns this audience.", next: "Choose another audience." },
  AUDIENCE_NOT_REGISTERED: { what: "The app does not have this audience.", next: "Add it to the app first." },
  ETAG_MISMATCH: { what: "Another administrator has changed this since you opened it.", next: reload },
  STATE_CONFLICT: { what: "The object's state does not allow this action.", next: reload },
  IN_USE: { what: "Something still uses this object.", next: "Remove what uses it first." },
  CREDENTIAL_LIMIT: { what: "The account has two active secrets, the limit.", next: "Revoke one first." },
  GRANT_LIMIT: { what: "The principal has 200 grants in this app, the limit.", next: "Revoke some first." },
  NOT_FOUND: { what: "There is no such object here.", next: reload },
  SESSION_NOT_FOUND: { what: "This session has ended already.", next: reload },
  LAST_LOGIN_METHOD: { what: "This is the last way to sign in.", next: "Link another account first." },
  PROVIDER_ACCOUNT_IN_USE: {
    what: "This provider account belongs to another identity.",
    next: "Unlink it there, then link it here.",
  },
  DELEGATION_NOT_ALLOWED: { what: "No policy allows this service to act for you.", next: askAdministrator },
  AUDIENCE_NOT_ALLOWED: {
    what: "The policy or the account does not allow this audience.",
    next: "Choose another one.",
  },
  ...each(
    clientOutdated,
    "MALFORMED_REQUEST",
    "UNKNOWN_FIELD",
    "DUPLICATE_FIELD",
    "FIELD_CONFLICT",
    "NESTING_TOO_DEEP",
    "UNSUPPORTED_MEDIA_TYPE",
    "METHOD_UNKNOWN",
  ),
  BODY_TOO_LARGE: { what: "The request is too large.", next: "Send less at once." },
  INVITATION_INVALID: { what: "The invitation is unknown, used or expired.", next: "Ask for a new one." },
  // The sign-in
  SIGNUP_DISABLED: { what: "This app accepts only people who were invited.", next: "Ask for an invitation." },
  PROVIDER_DISABLED: { what: "This way to sign in is disabled.", next: "Choose another one." },
  ...each(
    providerRefused,
    "PROVIDER_REFUSED",
    "PROVIDER_TOKEN_INVALID",
    "PROVIDER_TOKEN_REPLAYED",
    "NONCE_MISMATCH",
    "UPSTREAM_UNAVAILABLE",
  ),
  INVALID_CREDENTIALS: { what: "The address or the password is wrong.", next: tryAgain },
  MAGIC_LINK_INVALID: { what: "The link is unknown, used or expired.", next: "Ask for a new one." },
  EMAIL_NOT_VERIFIED: { what: "The provider has not verified the address.", next: "Verify it there, then try again." },
  CALLBACK_INVALID: { what: "The sign-in is not one that this page began, or it has expired.", next: "Begin again." },
  CALLBACK_ISSUER_MISMATCH: { what: "Another provider answered than the one that was asked.", next: "Begin again." },
  ...each(
    { what: "The app does not have this way to sign in.", next: "Choose another one." },
    "CONNECTION_UNKNOWN",
    "CONNECTION_REQUIRED",
    "PROVIDER_NOT_CONFIGURED",
  ),
  REDIRECT_NOT_ALLOWED: {
    what: "The app does not allow this redirect URI.",
    next: "Add it to the connection's redirect URIs.",
  },
  ORIGIN_NOT_ALLOWED: {
    what: "The app does not allow this page's origin.",
    next: "Add the origin to the app's allowed origins.",
  },
  LOCKED_OUT: { what: "Too many failed attempts.", next: "Wait for the time that is shown." },
  CANCELED: { what: "The action was canceled.", next: "Start it again if you still want it." },
  // The service
  RATE_LIMITED: { what: "Too many calls in a short time.", next: "Wait for the time that is shown." },
  UNREACHABLE: { what: "The service does not answer.", next: "Check the network. Nothing was lost." },
  UNAVAILABLE: { what: "The service is not available at the moment.", next: wait },
  DEADLINE_EXCEEDED: { what: "The service took too long.", next: wait },
  LOCK_BUSY: { what: "Another tab is busy.", next: wait },
  STORE_FAILED: { what: "The browser could not store the sign-in.", next: "Free some storage, then sign in again." },
  INTERNAL: { what: "The service has failed. Its log has the details.", next: "Try again; report it if it stays." },
}
