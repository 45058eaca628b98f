import type { Refusal } from "./refusal.ts"

/** Refusals of sessions and their refresh tokens. */
export const sessionRefusals = {
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
} as const satisfies Record<string, Refusal>
