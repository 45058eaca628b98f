// The arithmetic of a bucket (GCRA, ITU-T I.371): one number tells how full it is. In whole microseconds, so that this
// and the store's statement agree to the last call.
import type { Window } from "./policy.ts"

/** What one call takes from the bucket, in microseconds of its refilling. */
export const stepMicros = ({ limit, seconds }: Window): number => Math.ceil((seconds * 1_000_000) / limit)

/** From empty to full. Not more than `limit` steps fit. */
export const spanMicros = (window: Window): number => window.limit * stepMicros(window)

/**
 * One call.
 *
 * @param fullAtMicros When the bucket is full again, as the calls before left it; undefined without any.
 */
export function take(
  fullAtMicros: number | undefined,
  window: Window,
  nowMicros: number,
): { granted: boolean; fullAtMicros: number } {
  const step = stepMicros(window)
  const emptyAt = nowMicros + spanMicros(window)
  // Never emptier than empty: another process' clock may be ahead, and windows become shorter with the settings.
  const before = Math.min(Math.max(fullAtMicros ?? nowMicros, nowMicros), emptyAt)
  const granted = before + step <= emptyAt
  return { granted, fullAtMicros: granted ? before + step : before }
}

/** Calls left. */
export function remaining(fullAtMs: number, window: Window, nowMs: number): number {
  const taken = Math.ceil((Math.max(0, fullAtMs - nowMs) * 1_000) / stepMicros(window))
  return Math.max(0, window.limit - taken)
}

/** When the next call is granted, in milliseconds since the Unix epoch: now or before it if one is left. */
export function nextAtMs(fullAtMs: number, window: Window): number {
  return fullAtMs - (spanMicros(window) - stepMicros(window)) / 1_000
}
