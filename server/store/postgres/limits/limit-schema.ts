import type { PrincipalId } from "@signet/kernel/ids"

// The kysely types of the tables in 0003_limits.sql and 0035_limit_refusals.sql. Times are microseconds since the Unix epoch.

export interface LimitTables {
  rate_limit: RateLimitTable
  lockout: LockoutTable
  limit_refusal: LimitRefusalTable
}

export interface LimitRefusalTable {
  key: Uint8Array
  kind: "RATE_LIMIT" | "LOCK"
  name: string
  network: string | null
  principal_id: PrincipalId | null
  refused_at_us: number
  until_us: number
}

/** A bucket, and the result of its last call. */
interface RateLimitTable {
  key: Uint8Array
  step_us: number
  span_us: number
  full_at_us: number
  was_granted: boolean
}

/** Failures and locks, and whether the last failure was counted. */
interface LockoutTable {
  key: Uint8Array
  failures: number
  window_ends_at_us: number
  locks: number
  locked_until_us: number
  forgotten_at_us: number
  was_counted: boolean
}
