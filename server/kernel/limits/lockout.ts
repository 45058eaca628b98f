import type { LockoutPolicy } from "./policy.ts"

export interface Lockout {
  /** Failures since the window began. */
  failures: number
  windowEndsAtMs: number
  /** Locks in a row: each is twice as long as the one before. */
  locks: number
  lockedUntilMs: number
}

/** The most doublings that are counted: more would only overflow. */
export const mostLocks = 20

/** When a lock is forgotten and the next is short again: a longest lock's time after it ended. */
export const forgottenAtMs = (state: Lockout, policy: LockoutPolicy): number =>
  Math.max(state.lockedUntilMs + policy.mostLockSeconds * 1_000, state.windowEndsAtMs)

/**
 * A failure.
 *
 * @param state What earlier failures left; undefined for none.
 * @returns What is kept now, and whether the failure was counted: while locked it is not.
 */
export function fail(
  state: Lockout | undefined,
  policy: LockoutPolicy,
  nowMs: number,
): { counted: boolean; state: Lockout } {
  if (state !== undefined && state.lockedUntilMs > nowMs) return { counted: false, state }
  const isRunning = state !== undefined && state.windowEndsAtMs > nowMs
  const failures = (isRunning ? state.failures : 0) + 1
  const windowEndsAtMs = isRunning ? state.windowEndsAtMs : nowMs + policy.seconds * 1_000
  const locks = state === undefined || forgottenAtMs(state, policy) <= nowMs ? 0 : state.locks
  const lockedUntilMs = state?.lockedUntilMs ?? 0
  if (failures < policy.failures) return { counted: true, state: { failures, windowEndsAtMs, locks, lockedUntilMs } }
  const seconds = Math.min(policy.lockSeconds * 2 ** locks, policy.mostLockSeconds)
  return {
    counted: true,
    state: {
      failures: 0,
      windowEndsAtMs: nowMs,
      locks: Math.min(locks + 1, mostLocks),
      lockedUntilMs: nowMs + seconds * 1_000,
    },
  }
}
