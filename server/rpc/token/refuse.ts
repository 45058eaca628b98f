import { type Reason, Refused } from "@signet/kernel/errors"
import { type OAuthError, oauthErrorOf } from "@signet/kernel/token/oauth-error"

/** A refusal of the token endpoint: its reason, and what RFC 6749 calls it, for callers over RPC too. */
export function refusal(
  reason: Reason,
  options: { error?: OAuthError; message?: string; field?: string; scope?: string } = {},
): Refused {
  const { error, message, field, scope } = options
  return new Refused(reason, {
    ...(message === undefined ? {} : { message }),
    metadata: {
      error: error ?? oauthErrorOf(reason, {}),
      ...(field === undefined ? {} : { field }),
      ...(scope === undefined ? {} : { scope }),
    },
  })
}

export const invalidRequest = (field: string, message: string): Refused =>
  refusal("INVALID_FIELD", { error: "invalid_request", field, message })
