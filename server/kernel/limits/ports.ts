// Store interface of rate limits. Keys are keyed hashes, so a copy of the table names no subject.
import type { LockoutPolicy, Window } from "./policy.ts"

/** One call to count against one window. */
export interface Ask {
  /** 32 bytes: an HMAC of route, window and subject. */
  key: Uint8Array
  window: Window
}

export interface Counted {
  granted: boolean
  /** When the bucket is full again, in milliseconds since the Unix epoch. */
  fullAtMs: number
}

/** A call to count in several windows. */
export interface Counting {
  asks: readonly Ask[]
  /** Keys of the locks that would refuse the call. */
  locks: readonly Uint8Array[]
  nowMs: number
}

export interface Taken {
  /** The result for each ask, in order. */
  counted: readonly Counted[]
  /** When the longest lock ends; null if there is none. */
  lockedUntilMs: number | null
}

/** Shared by all processes of one database. Each method is one short statement. */
export interface LimitCounts {
  /** Takes one call from each bucket that has one left. An empty bucket is unchanged. */
  take(asks: readonly Ask[], locks: readonly Uint8Array[], nowMs: number): Promise<Taken>
  /** Returns the calls to these buckets: another bucket refused the call, or the attempt was no wrong guess. */
  giveBack(asks: readonly Ask[]): Promise<void>
  /**
   * Counts a failure and locks at the policy's limit. While locked nothing is counted, so attempts do not prolong a
   * lock.
   *
   * @returns When the existing lock ends; null if the failure was counted.
   */
  fail(key: Uint8Array, policy: LockoutPolicy, nowMs: number): Promise<number | null>
}
