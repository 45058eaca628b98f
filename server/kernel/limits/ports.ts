// Store interface of rate limits. Keys are keyed hashes, so a copy of the table names no subject.
import type { PrincipalId } from "../ids.ts"
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

/** A rate limit or lock that has refused a call. */
export interface LimitRefusal {
  /** The key of the bucket or lock. */
  readonly key: Uint8Array
  readonly kind: "RATE_LIMIT" | "LOCK"
  readonly name: string
  /** The caller's network without its last part; null if it is unknown. */
  readonly network: string | null
  readonly principalId: PrincipalId | null
  readonly refusedAtMs: number
  /** When the bucket is full again, or the lock ends. */
  readonly untilMs: number
}

export interface LimitRefusals {
  /** Stores the refusal. For a key that is in force, only the end changes. */
  note(refusal: LimitRefusal): Promise<void>
  /** The refusals in force, latest end first. */
  list(
    nowMs: number,
    page: { readonly size: number; readonly before: Pick<LimitRefusal, "key" | "untilMs"> | null },
  ): Promise<readonly LimitRefusal[]>
  /** Deletes the refusal with its count and lock. @returns Undefined if it is not in force. */
  lift(key: Uint8Array, nowMs: number): Promise<LimitRefusal | undefined>
}
