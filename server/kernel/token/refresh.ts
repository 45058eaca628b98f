import type { RefreshToken, Session } from "../records.ts"
import { sessionState } from "../session/session.ts"

export type Rotation =
  /** The token is current: it is rotated and its successor issued. */
  | { is: "rotate" }
  /** The same request again: the same successor again. */
  | { is: "retry"; successorSealed: Uint8Array }
  /** The token was copied: the session ends, whoever asks. */
  | { is: "reuse" }
  /** The token is of no use and nothing changes. */
  | { is: "refuse" }

export interface Presented {
  token: RefreshToken | undefined
  /** The session of the token, as it is under its lock. */
  session: Session
  /** Whether the retry key that came is the one that the token was rotated with. False when none came. */
  retryKeyMatches: boolean
  /** The app's retry window; 0 gives the literal rule. Milliseconds. */
  retryWindowMs: number
  /** Milliseconds since the Unix epoch. */
  nowMs: number
}

/**
 * What presenting a refresh token means.
 *
 * A token that was rotated before has been copied, so its family ends, expired or not (RFC 9700 section 4.14.2), unless
 * it is the same request again: the same retry key, in time, and the successor never used.
 */
export function decideRotation({ token, session, retryKeyMatches, retryWindowMs, nowMs }: Presented): Rotation {
  if (token === undefined || token.revokedAtMs !== null || session.status !== "ACTIVE") return { is: "refuse" }
  const hasExpired = sessionState(session, nowMs) === "EXPIRED"
  if (token.rotatedAtMs === null) return hasExpired || token.expiresAtMs <= nowMs ? { is: "refuse" } : { is: "rotate" }
  const inTime = nowMs < token.rotatedAtMs + retryWindowMs
  if (retryKeyMatches && inTime && token.confirmedAtMs === null && token.successorSealed !== null) {
    // The session may have met its limit inside the window: nothing is issued for it any more.
    return hasExpired ? { is: "refuse" } : { is: "retry", successorSealed: token.successorSealed }
  }
  return { is: "reuse" }
}
