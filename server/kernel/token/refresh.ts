import type { RefreshToken, Session } from "../records.ts"
import { sessionState } from "../session/session.ts"

export type Rotation =
  /** The token is current: rotate it and issue its successor. */
  | { is: "rotate" }
  /** A retry of the rotation: return the same successor. */
  | { is: "retry"; successorSealed: Uint8Array }
  /** The token was copied: end the session, whoever presented it. */
  | { is: "reuse" }
  /** The token is invalid. Nothing changes. */
  | { is: "refuse" }

export interface Presented {
  token: RefreshToken | undefined
  /** The token's session, read under its lock. */
  session: Session
  /** True if the presented retry key is that of the rotation. False if there was none. */
  retryKeyMatches: boolean
  /** The app's retry window in milliseconds; 0 applies RFC 9700 strictly. */
  retryWindowMs: number
  /** Milliseconds since the Unix epoch. */
  nowMs: number
}

/**
 * Decides what to do with a presented refresh token.
 *
 * A token that was already rotated has been copied, so its family ends, expired or not (RFC 9700 section 4.14.2).
 * Exception: a retry of the same request, with the same retry key, within the window, and before the successor was
 * used.
 */
export function decideRotation({ token, session, retryKeyMatches, retryWindowMs, nowMs }: Presented): Rotation {
  if (token === undefined || token.revokedAtMs !== null || session.status !== "ACTIVE") return { is: "refuse" }
  const hasExpired = sessionState(session, nowMs) === "EXPIRED"
  if (token.rotatedAtMs === null) return hasExpired || token.expiresAtMs <= nowMs ? { is: "refuse" } : { is: "rotate" }
  const inTime = nowMs < token.rotatedAtMs + retryWindowMs
  if (retryKeyMatches && inTime && token.confirmedAtMs === null && token.successorSealed !== null) {
    // The session may have expired inside the window; nothing is issued for it then.
    return hasExpired ? { is: "refuse" } : { is: "retry", successorSealed: token.successorSealed }
  }
  return { is: "reuse" }
}
