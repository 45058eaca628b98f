// Counts several calls in one statement that does not wait for the buckets of strangers. A call is granted here only if
// all of its buckets hold all calls of the statement, and if none of its locks is active. Every other call must be
// counted by a statement of its own, which takes nothing from here: this one counts nothing for it.
import { spanMicros, stepMicros } from "@signet/kernel/limits/bucket"
import type { Counting, LimitCounts, Taken } from "@signet/kernel/limits/ports"
import { batched } from "../batches.ts"
import { array } from "../sql.ts"
import { type CountedJson, countedRows, micros, takenOf } from "./limits.ts"

/** A granted call, or one with a bucket that another call has locked. */
export interface CallRow extends CountedJson {
  /** The place of the call, from 1. */
  readonly call: number
  readonly is_busy: boolean
}

/** The number of the first parameter after those of countSeveralValues. */
export const firstFurther = 8

/**
 * True if the statement waited, so that its snapshot is old: a statement that waits for a lock sees all other rows as
 * they were before.
 */
export const isLateText = "clock_timestamp() - statement_timestamp() > interval '100 milliseconds'"

/**
 * CTEs that count. $1 to $4 are the buckets of the calls, $5 is now, $6 and $7 are their locks. `granted` has the places
 * of the granted calls, and `answered` a CallRow for each granted or busy call.
 *
 * A call whose bucket does not exist yet is granted if only one is missing. An INSERT of the same bucket by another
 * statement is the only lock that this one waits for.
 *
 * @param chosen SQL that selects the places of the calls to count.
 */
export const countSeveralText = (chosen: string): string => `held as materialized (
  select key, greatest(full_at_us, $5::bigint) as before_us
  from rate_limit where key = any(${array(2, "bytea")}) order by key for update skip locked
), asked as materialized (
  select each.*, exists (select from rate_limit where rate_limit.key = each.key) as is_kept
  from unnest(${array(1, "bigint")}, ${array(2, "bytea")}, ${array(3, "bigint")}, ${array(4, "bigint")}) as each (call, key, step_us, span_us)
), roomy as (
  select asked.key from asked join held on held.key = asked.key
  group by asked.key, held.before_us, asked.step_us, asked.span_us
  having least(held.before_us, $5::bigint + asked.span_us) + count(*) * asked.step_us <= $5::bigint + asked.span_us
), candidate as materialized (
  select chosen.call from (${chosen}) as chosen (call)
  where not exists (
      select from asked where asked.call = chosen.call and asked.is_kept and asked.key not in (select key from roomy)
    )
    and (select count(*) from asked where asked.call = chosen.call and not asked.is_kept) <= 1
    and not exists (
      select from unnest(${array(6, "bigint")}, ${array(7, "bytea")}) as lock (call, key) join lockout on lockout.key = lock.key
      where lock.call = chosen.call and lockout.locked_until_us > $5::bigint
    )
    and not (select ${isLateText} from (select count(*) from held) as all_held)
), created as (
  insert into rate_limit (key, step_us, span_us, full_at_us, was_granted)
  select asked.key, asked.step_us, asked.span_us, $5::bigint + count(*) * asked.step_us, true
  from asked join candidate on candidate.call = asked.call where not asked.is_kept
  group by asked.key, asked.step_us, asked.span_us having count(*) * asked.step_us <= asked.span_us
  on conflict (key) do nothing returning key
), granted as materialized (
  select call from candidate where not exists (
    select from asked
    where asked.call = candidate.call and not asked.is_kept and asked.key not in (select key from created)
  )
), taken as materialized (
  select asked.call, asked.key, asked.step_us, asked.span_us,
    least(coalesce(held.before_us, $5::bigint), $5::bigint + asked.span_us)
      + asked.step_us * row_number() over (partition by asked.key order by asked.call) as full_at_us
  from asked join granted on granted.call = asked.call left join held on held.key = asked.key
), counted as (
  update rate_limit as kept
  set step_us = last.step_us, span_us = last.span_us, full_at_us = last.full_at_us, was_granted = true
  from (select key, step_us, span_us, max(full_at_us) as full_at_us from taken group by key, step_us, span_us) as last
  where kept.key = last.key
), answered as (
  select granted.call, false as is_busy, (
    select json_agg(json_build_array(encode(key, 'hex'), full_at_us, true)) from taken where taken.call = granted.call
  ) as counted
  from granted
  union all
  select asked.call, true, null from asked
  where asked.is_kept and asked.key not in (select key from held)
  group by asked.call
)`

export function countSeveralValues(countings: readonly Counting[]): readonly unknown[] {
  const asks = countings.flatMap((counting, i) => counting.asks.map((ask) => ({ ...ask, call: i + 1 })))
  const locks = countings.flatMap((counting, i) => counting.locks.map((key) => ({ key, call: i + 1 })))
  return [
    asks.map(({ call }) => call),
    asks.map(({ key }) => Buffer.from(key)),
    asks.map(({ window }) => stepMicros(window)),
    asks.map(({ window }) => spanMicros(window)),
    micros(Math.max(...countings.map(({ nowMs }) => nowMs))),
    locks.map(({ call }) => call),
    locks.map(({ key }) => Buffer.from(key)),
  ]
}

/**
 * The values of several calls as one array for each parameter.
 *
 * @param width The number of parameters. Required if there may be no calls.
 */
export const byParameter = (
  calls: readonly (readonly unknown[])[],
  width = calls[0]?.length ?? 0,
): readonly unknown[][] => Array.from({ length: width }, (_, parameter) => calls.map((values) => values[parameter]))

/** The result of each call, in order, from the rows of `answered`. */
export function answersOf<Call, Row extends Pick<CallRow, "call" | "is_busy">, Answer>(
  calls: readonly Call[],
  rows: readonly Row[],
  answer: (row: Row, call: Call) => Answer,
): readonly (Answer | "busy" | "alone")[] {
  const rowOf = new Map(rows.map((row) => [row.call, row]))
  return calls.map((call, i) => {
    const row = rowOf.get(i + 1)
    if (row === undefined) return "alone"
    return row.is_busy ? "busy" : answer(row, call)
  })
}

const takeAllText = `with ${countSeveralText(`select place from generate_series(1, $${firstFurther}::integer) as place`)}
select * from answered`

/**
 * Returns `take` of these counts, which counts calls that arrive together in one statement. For counts outside of
 * transactions.
 */
export function takeTogether(ask: Ask, alone: LimitCounts["take"]): LimitCounts["take"] {
  const take = batched<Counting, Taken>({
    async runAll(countings) {
      const rows = await ask<CallRow>(takeAllText, [...countSeveralValues(countings), countings.length])
      return answersOf(countings, rows, (row, counting) => takenOf(counting, countedRows(row)))
    },
    runAlone: ({ asks, locks, nowMs }) => alone(asks, locks, nowMs),
  })
  return (asks, locks, nowMs) => take({ asks, locks, nowMs })
}

type Ask = <Row>(text: string, values: readonly unknown[]) => Promise<readonly Row[]>
