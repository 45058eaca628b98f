// Error responses of the stand-in for IDP_C, in each of the three formats that real projects use.

/** Formats: API version 2024-01-01; without a version; and from before errors had codes. */
export type Spelling = "version" | "codes" | "sentences"

export interface Answer {
  status: number
  /** Undefined for no body (204). */
  body: object | undefined
  location?: string
}

interface Refusal {
  status: number
  sentence: string
  /** The status before errors had codes, if different. */
  oldStatus?: number
}

const refusals = {
  invalid_credentials: { status: 400, sentence: "Invalid login credentials" },
  email_not_confirmed: { status: 400, sentence: "Email not confirmed" },
  user_banned: { status: 400, sentence: "User is banned" },
  validation_failed: { status: 400, sentence: "Unable to validate email address: invalid format" },
  otp_disabled: { status: 422, sentence: "Signups not allowed for otp", oldStatus: 400 },
  signup_disabled: { status: 422, sentence: "Signups not allowed for this instance", oldStatus: 403 },
  otp_expired: { status: 403, sentence: "Email link is invalid or has expired", oldStatus: 401 },
  over_email_send_rate_limit: {
    status: 429,
    sentence: "For security purposes, you can only request this after 42 seconds.",
  },
  over_request_rate_limit: { status: 429, sentence: "Request rate limit reached" },
  no_authorization: { status: 401, sentence: "This endpoint requires a valid Bearer token" },
  session_not_found: { status: 403, sentence: "Session from session_id claim in JWT does not exist" },
  unexpected_failure: { status: 500, sentence: "Database error querying schema" },
} as const satisfies Record<string, Refusal>

export type Code = keyof typeof refusals

/** @param isOAuth True for the token endpoint, which formerly used errors of RFC 6749. */
export function refuse(code: Code, spelling: Spelling, isOAuth = false): Answer {
  const { status, sentence, oldStatus = status }: Refusal = refusals[code]
  switch (spelling) {
    case "version":
      return { status, body: { code, message: sentence } }
    case "codes":
      return { status, body: { code: status, error_code: code, msg: sentence } }
    case "sentences": {
      const isGrant = isOAuth && status === 400
      return isGrant
        ? { status, body: { error: "invalid_grant", error_description: oauthSentence(code, sentence) } }
        : { status: oldStatus, body: { code: oldStatus, msg: sentence } }
    }
  }
}

/** That format did not distinguish bans. */
const oauthSentence = (code: Code, sentence: string): string =>
  code === "user_banned" ? refusals.invalid_credentials.sentence : sentence
