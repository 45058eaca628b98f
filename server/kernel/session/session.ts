import type { AppSettings, Platform, Session } from "../records.ts"

export type SessionState = "ACTIVE" | "REVOKED" | "COMPROMISED" | "EXPIRED"

/**
 * Returns the session's current state. Expiry is computed, not stored, and inclusive: a session is expired at its
 * limit.
 */
export function sessionState(
  session: Pick<Session, "status" | "idleExpiresAtMs" | "absoluteExpiresAtMs">,
  nowMs: number,
): SessionState {
  if (session.status !== "ACTIVE") return session.status
  return nowMs >= Math.min(session.idleExpiresAtMs, session.absoluteExpiresAtMs) ? "EXPIRED" : "ACTIVE"
}

/** When a session ends if it is not refreshed: at most its absolute limit. Milliseconds. */
export function idleExpiry(
  settings: AppSettings,
  of: { platform: Platform; absoluteExpiresAtMs: number },
  nowMs: number,
): number {
  const seconds = of.platform === "WEB" ? settings.sessionIdleSecondsWeb : settings.sessionIdleSecondsNative
  return Math.min(nowMs + seconds * 1_000, of.absoluteExpiresAtMs)
}

/** The absolute limit of a session that begins now. Milliseconds. */
export const absoluteExpiry = (settings: AppSettings, nowMs: number): number =>
  nowMs + settings.sessionAbsoluteSeconds * 1_000

/**
 * Returns the audiences of the tokens: the requested ones, else the default. Undefined if the app may not request one
 * of them.
 */
export function grantedAudiences(
  asked: readonly string[],
  registered: readonly string[],
  fallback: readonly string[],
  authAudience: string,
): readonly [string, ...string[]] | undefined {
  const wanted = [...new Set(asked.length > 0 ? asked : fallback)]
  if (wanted.some((audience) => audience !== authAudience && !registered.includes(audience))) return undefined
  const [first, ...rest] = wanted
  return first === undefined ? [authAudience] : [first, ...rest]
}
