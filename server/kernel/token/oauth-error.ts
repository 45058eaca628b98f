// OAuth error codes of RFC 6749 section 5.2 and related RFCs, for standard clients. The refusal's reason is more
// specific.
import { type Reason, type Refused, refusals } from "../errors.ts"

export const oauthErrors = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  /** RFC 8707 section 2, RFC 8693 section 2.2.2. */
  invalid_target: 400,
  access_denied: 400,
  /** RFC 6750 section 3.1, where a bearer token was the caller's credential. */
  invalid_token: 401,
  insufficient_scope: 403,
  slow_down: 429,
  temporarily_unavailable: 503,
  server_error: 500,
} as const

/** An error code. `oauthErrors` maps it to its HTTP status. */
export type OAuthError = keyof typeof oauthErrors

const special: Partial<Record<Reason, OAuthError>> = {
  CLIENT_INVALID: "invalid_client",
  CLIENT_NOT_ALLOWED: "unauthorized_client",
  GRANT_TYPE_UNSUPPORTED: "unsupported_grant_type",
  AUDIENCE_NOT_ALLOWED: "invalid_target",
  SCOPE_NOT_GRANTED: "invalid_scope",
  PAT_INVALID: "invalid_grant",
  SUBJECT_TOKEN_INVALID: "invalid_grant",
  DELEGATION_EXPIRED: "invalid_grant",
  MISSING_SCOPE: "insufficient_scope",
  RATE_LIMITED: "slow_down",
  DEADLINE_EXCEEDED: "temporarily_unavailable",
  CANCELED: "temporarily_unavailable",
}

/** Returns the code of a refusal: its metadata's `error`, else the default for its reason. */
export function oauthErrorOf(reason: Reason, metadata: Refused["metadata"]): OAuthError {
  const { error } = metadata
  if (error !== undefined && isOAuthError(error)) return error
  const known = special[reason]
  if (known !== undefined) return known
  const { status } = refusals[reason]
  if (status === 401) return "invalid_token"
  if (status === 403) return "access_denied"
  if (status === 503) return "temporarily_unavailable"
  return status === 500 ? "server_error" : "invalid_request"
}

const isOAuthError = (text: string): text is OAuthError => Object.hasOwn(oauthErrors, text)
