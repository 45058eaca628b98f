import { spanMicros, stepMicros } from "@signet/kernel/limits/bucket"
import { maxLocks } from "@signet/kernel/limits/lockout"
import type { Ask, Counted, Counting, LimitCounts, Taken } from "@signet/kernel/limits/ports"
import { type Database, run } from "../sql.ts"

// kernel/limits/bucket.ts in SQL; a test compares the two. One statement counts every bucket of a call in the order of
// their keys, so that two calls never deadlock.
const before = "least(greatest(kept.full_at_us, $4::bigint), $4::bigint + excluded.span_us)"
const isGrantedText = `${before} + excluded.step_us <= $4::bigint + excluded.span_us`

/**
 * Counts in CTEs with the parameters $1 to $5 (see countingValues). `counted` has a row for each bucket and each active
 * lock.
 *
 * @param condition An SQL condition; where it is false, nothing is counted.
 */
export const countingIf = (condition: string): string => `taken as (
  insert into rate_limit as kept (key, step_us, span_us, full_at_us, was_granted)
  select key, step_us, span_us, $4::bigint + step_us, true
  from unnest($1::bytea[], $2::bigint[], $3::bigint[]) as asked (key, step_us, span_us) where ${condition}
  on conflict (key) do update set
    step_us = excluded.step_us, span_us = excluded.span_us,
    full_at_us = ${before} + case when ${isGrantedText} then excluded.step_us else 0 end,
    was_granted = ${isGrantedText}
  returning key, full_at_us, was_granted
), counted as (
  select key, full_at_us as until_us, was_granted from taken
  union all
  select key, locked_until_us, null from lockout where key = any($5::bytea[]) and locked_until_us > $4::bigint
)`
export const countingText = countingIf("true")
export const isRefusedText = "exists (select from counted where was_granted is not true)"

const takeText = `with ${countingText} select key, until_us, was_granted from counted`

const giveBackText =
  "update rate_limit set full_at_us = full_at_us - step_us where key = any($1::bytea[]) and was_granted"

// kernel/limits/lockout.ts in SQL; a test compares the two. $2 now, $3 failures, $4 window, $5 lock, $6 longest lock.
const isLocked = "kept.locked_until_us > $2::bigint"
const isRunning = "kept.window_ends_at_us > $2::bigint"
const failures = `case when ${isRunning} then kept.failures + 1 else 1 end`
const isReached = `${failures} >= $3::integer`
const locks = "case when kept.forgotten_at_us <= $2::bigint then 0 else kept.locks end"
const lockedUntil = `$2::bigint + least($5::bigint * (1::bigint << (${locks})), $6::bigint)`
const windowEnds = `case when ${isRunning} then kept.window_ends_at_us else $2::bigint + $4::bigint end`
const firstLock = "$2::bigint + least($5::bigint, $6::bigint)"
const choose = (kept: string, reached: string, counted: string) =>
  `${kept} = case when ${isLocked} then kept.${kept} when ${isReached} then ${reached} else ${counted} end`
const failText = `
insert into lockout as kept
  (key, failures, window_ends_at_us, locks, locked_until_us, forgotten_at_us, was_counted)
values ($1,
  case when $3::integer > 1 then 1 else 0 end,
  case when $3::integer > 1 then $2::bigint + $4::bigint else $2::bigint end,
  case when $3::integer > 1 then 0 else 1 end,
  case when $3::integer > 1 then 0 else ${firstLock} end,
  case when $3::integer > 1 then $2::bigint + $4::bigint else ${firstLock} + $6::bigint end,
  true)
on conflict (key) do update set
  ${choose("failures", "0", failures)},
  ${choose("window_ends_at_us", "$2::bigint", windowEnds)},
  ${choose("locks", `least((${locks}) + 1, ${maxLocks})`, locks)},
  ${choose("locked_until_us", lockedUntil, "kept.locked_until_us")},
  ${choose("forgotten_at_us", `${lockedUntil} + $6::bigint`, `greatest(kept.locked_until_us + $6::bigint, ${windowEnds})`)},
  was_counted = not (${isLocked})
returning locked_until_us, was_counted`

/** The rows of `counted` as one JSON value. JSON has no bytes, so keys are hexadecimal. */
export const countedJsonText =
  "(select json_agg(json_build_array(encode(key, 'hex'), until_us, was_granted)) from counted)"

export interface CountedJson {
  counted: readonly [key: string, untilUs: number, wasGranted: boolean | null][] | null
}

export const countedRows = (row: CountedJson | undefined): readonly CountedRow[] =>
  (row?.counted ?? []).map(([key, until_us, was_granted]) => ({ key: Buffer.from(key, "hex"), until_us, was_granted }))

/** The answer of a statement that has counted nothing. */
export const notCounted = ({ asks, nowMs }: Counting): Taken => ({
  counted: asks.map(() => ({ granted: true, fullAtMs: nowMs })),
  lockedUntilMs: null,
})

export const isGranted = ({ counted, lockedUntilMs }: Taken): boolean =>
  lockedUntilMs === null && counted.every(({ granted }) => granted)

/** A row of `counted`. */
export interface CountedRow {
  key: Uint8Array
  until_us: number
  /** Null for a lock. */
  was_granted: boolean | null
}

export function countingValues({ asks, locks, nowMs }: Counting): readonly unknown[] {
  const sorted = asks.toSorted((a, b) => Buffer.compare(a.key, b.key))
  return [
    sorted.map(({ key }) => Buffer.from(key)),
    sorted.map(({ window }) => stepMicros(window)),
    sorted.map(({ window }) => spanMicros(window)),
    micros(nowMs),
    locks.map((key) => Buffer.from(key)),
  ]
}

export function takenOf({ asks }: Counting, rows: readonly CountedRow[]): Taken {
  const locked = rows.flatMap(({ was_granted, until_us }) => (was_granted === null ? [until_us / 1_000] : []))
  return {
    counted: asks.map((ask) => countedOf(ask, rows)),
    lockedUntilMs: locked.length === 0 ? null : Math.max(...locked),
  }
}

export function limitCounts(db: Database): LimitCounts {
  return {
    async take(asks, locks, nowMs) {
      const counting = { asks, locks, nowMs }
      return takenOf(counting, await run<CountedRow>(db, takeText, countingValues(counting)))
    },

    async giveBack(asks) {
      await run(db, giveBackText, [asks.map(({ key }) => Buffer.from(key))])
    },

    async fail(key, policy, nowMs) {
      const [row] = await run<{ locked_until_us: number; was_counted: boolean }>(db, failText, [
        key,
        micros(nowMs),
        policy.failures,
        policy.seconds * 1_000_000,
        policy.lockSeconds * 1_000_000,
        policy.mostLockSeconds * 1_000_000,
      ])
      if (row === undefined) throw new Error("a failure was not counted")
      return row.was_counted ? null : row.locked_until_us / 1_000
    },
  }
}

export const micros = (ms: number): number => Math.round(ms * 1_000)

function countedOf({ key }: Ask, rows: readonly CountedRow[]): Counted {
  const row = rows.find((each) => each.was_granted !== null && Buffer.compare(each.key, key) === 0)
  if (row === undefined) throw new Error("a call was not counted")
  return { granted: row.was_granted === true, fullAtMs: row.until_us / 1_000 }
}
