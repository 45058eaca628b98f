import type { Refusal } from "./refusal.ts"

/** Refusals of sign-in: provider, app and account. */
export const signInRefusals = {
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
} as const satisfies Record<string, Refusal>
