import type { LockoutPolicy } from "./policy.ts"

/** Failed attempts of one key, for example of one account from one network, and the locks that followed. */
export interface Lockout {
  /** Failures in the current window. */
  failures: number
  windowEndsAtMs: number
  /** Number of consecutive locks. Each lasts twice as long as the previous one, up to the policy's maximum. */
  locks: number
  lockedUntilMs: number
}

/** Cap for the number of doublings, against overflow. */
export const maxLocks = 20

/** When the count of locks is reset: one maximum lock time after the last lock ended, and not within a window. */
const resetAtMs = (state: Lockout, policy: LockoutPolicy): number =>
  Math.max(state.lockedUntilMs + policy.mostLockSeconds * 1_000, state.windowEndsAtMs)

/**
 * Records a failure.
 *
 * @param state State after earlier failures; undefined for none.
 * @returns The new state, and whether the failure was counted. None is counted during a lock.
 */
export function countFailure(
  state: Lockout | undefined,
  policy: LockoutPolicy,
  nowMs: number,
): { counted: boolean; state: Lockout } {
  if (state !== undefined && state.lockedUntilMs > nowMs) return { counted: false, state }
  const isRunning = state !== undefined && state.windowEndsAtMs > nowMs
  const failures = (isRunning ? state.failures : 0) + 1
  const windowEndsAtMs = isRunning ? state.windowEndsAtMs : nowMs + policy.seconds * 1_000
  const locks = state === undefined || resetAtMs(state, policy) <= nowMs ? 0 : state.locks
  const lockedUntilMs = state?.lockedUntilMs ?? 0
  if (failures < policy.failures) return { counted: true, state: { failures, windowEndsAtMs, locks, lockedUntilMs } }
  const seconds = Math.min(policy.lockSeconds * 2 ** locks, policy.mostLockSeconds)
  return {
    counted: true,
    state: {
      failures: 0,
      windowEndsAtMs: nowMs,
      locks: Math.min(locks + 1, maxLocks),
      lockedUntilMs: nowMs + seconds * 1_000,
    },
  }
}
