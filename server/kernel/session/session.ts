import type { AppSettings, Platform, Session } from "../records.ts"

export type SessionState = "ACTIVE" | "REVOKED" | "COMPROMISED" | "EXPIRED"

/** Where a session stands now: its limits are computed, not stored. It is expired at its limit, not after. */
export function sessionState(
  session: Pick<Session, "status" | "idleExpiresAtMs" | "absoluteExpiresAtMs">,
  nowMs: number,
): SessionState {
  if (session.status !== "ACTIVE") return session.status
  return nowMs >= Math.min(session.idleExpiresAtMs, session.absoluteExpiresAtMs) ? "EXPIRED" : "ACTIVE"
}

/** When a session ends unless it is refreshed again; never after its absolute limit. Milliseconds. */
export function idleExpiry(
  settings: AppSettings,
  of: { platform: Platform; absoluteExpiresAtMs: number },
  nowMs: number,
): number {
  const seconds = of.platform === "WEB" ? settings.sessionIdleSecondsWeb : settings.sessionIdleSecondsNative
  return Math.min(nowMs + seconds * 1_000, of.absoluteExpiresAtMs)
}

/** When a session that begins now ends in any case. Milliseconds. */
export const absoluteExpiry = (settings: AppSettings, nowMs: number): number =>
  nowMs + settings.sessionAbsoluteSeconds * 1_000

/** The audiences of a call's tokens: those asked for, else the default. Undefined when one is not the app's to ask for. */
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
