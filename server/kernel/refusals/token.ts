import type { Refusal } from "./refusal.ts"

/** Refusals of the token endpoint and credentials of services. */
export const tokenRefusals = {
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
} as const satisfies Record<string, Refusal>
