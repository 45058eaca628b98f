// The counts as the store keeps them: by keyed hashes, so that a copy of the table names nobody.
import type { LockoutPolicy, Window } from "./policy.ts"

/** One call to be counted against one window. */
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

/** A call to be counted, and what it came with. */
export interface Counting {
  asks: readonly Ask[]
  /** Keys of locks that stand in the way. */
  locks: readonly Uint8Array[]
  nowMs: number
}

export interface Taken {
  /** What became of each ask, in their order. */
  counted: readonly Counted[]
  /** Until when the longest of the locks lasts; null when there is none. */
  lockedUntilMs: number | null
}

/** Shared by every process on one database. Each method is one short statement. */
export interface LimitCounts {
  /** Takes one call from each bucket that has one left; a refused call takes nothing from the bucket that refused it. */
  take(asks: readonly Ask[], locks: readonly Uint8Array[], nowMs: number): Promise<Taken>
  /** Puts back what a call took from these buckets, because another one refused it. */
  giveBack(asks: readonly Ask[]): Promise<void>
  /**
   * Counts a failure, and locks when it was one too many. While locked nothing is counted: attempts do not prolong it.
   *
   * @returns Until when it was locked already, or null: the failure was counted.
   */
  fail(key: Uint8Array, policy: LockoutPolicy, nowMs: number): Promise<number | null>
}
