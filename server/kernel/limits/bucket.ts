// Arithmetic of a rate limit (GCRA, ITU-T I.371): one number per bucket. In whole microseconds, so that this code and
// the store's SQL give identical results.
import type { Window } from "./policy.ts"

/** The cost of one call, in microseconds of refill time. */
export const stepMicros = ({ limit, seconds }: Window): number => Math.ceil((seconds * 1_000_000) / limit)

/** Time from empty to full, in microseconds: `limit` steps. */
export const spanMicros = (window: Window): number => window.limit * stepMicros(window)

/**
 * Counts one call.
 *
 * @param fullAtMicros When the bucket is full again, after earlier calls; undefined if there were none.
 */
export function take(
  fullAtMicros: number | undefined,
  window: Window,
  nowMicros: number,
): { granted: boolean; fullAtMicros: number } {
  const step = stepMicros(window)
  const emptyAt = nowMicros + spanMicros(window)
  // Never below empty: another process's clock may be ahead, and an operator may have shortened the window.
  const before = Math.min(Math.max(fullAtMicros ?? nowMicros, nowMicros), emptyAt)
  const granted = before + step <= emptyAt
  return { granted, fullAtMicros: granted ? before + step : before }
}

/** Calls that are left. */
export function remaining(fullAtMs: number, window: Window, nowMs: number): number {
  const taken = Math.ceil((Math.max(0, fullAtMs - nowMs) * 1_000) / stepMicros(window))
  return Math.max(0, window.limit - taken)
}

/** When the next call is granted, in milliseconds since the Unix epoch; not in the future if a call is left. */
export function nextAtMs(fullAtMs: number, window: Window): number {
  return fullAtMs - (spanMicros(window) - stepMicros(window)) / 1_000
}
