// Counts calls of several clients in one statement that waits for no lock. A call is granted here only if nothing speaks
// against it: its client has not changed and is not locked out, and each of its buckets holds all of the calls.
import { spanMicros, stepMicros } from "@signet/kernel/limits/bucket"
import type { Counting } from "@signet/kernel/limits/ports"
import type { ClientQuestion } from "@signet/kernel/machine/ports"
import { type CountedJson, micros } from "../limits/limits.ts"
import { clientValues, isLateText, taggedText } from "./client-facts.ts"

/** A call to count, if the client's facts still have the tag. */
export interface TaggedCall {
  readonly counting: Counting
  readonly client: ClientQuestion
  readonly tag: string
}

/** A granted call, or one that waits because another call has locked one of its buckets. */
export interface CallRow extends CountedJson {
  /** The place of the call, from 1. */
  readonly call: number
  readonly is_busy: boolean
}

const { facts, tag } = taggedText({ who: "one.who", tenant: "one.tenant", context: "one.context", now: "one.now_at" })

/** The number of the first parameter after those of countedCallsValues. */
export const firstFurther = 14

/**
 * CTEs that count. $1 to $4 are the clients and $5 their tags; $6 is the client of each call; $7 to $10 are the buckets
 * of the calls; $11 is now; $12 and $13 are the locks of the calls. `granted` has the places of the granted calls.
 * Buckets that do not exist yet are left to a statement of their own, because only an INSERT can count them.
 */
export const countedCallsText = `same as (
  select one.client from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[])
    with ordinality as one (who, tenant, context, now_at, tag, client)
  where one.tag = (select ${tag} from ${facts} offset 0)
), held as materialized (
  select key, greatest(full_at_us, $11::bigint) as before_us
  from rate_limit where key = any($8::bytea[]) order by key for update skip locked
), asked as materialized (
  select * from unnest($7::bigint[], $8::bytea[], $9::bigint[], $10::bigint[]) as each (call, key, step_us, span_us)
), roomy as (
  select asked.key from asked join held on held.key = asked.key
  group by asked.key, held.before_us, asked.step_us, asked.span_us
  having least(held.before_us, $11::bigint + asked.span_us) + count(*) * asked.step_us <= $11::bigint + asked.span_us
), granted as materialized (
  select each.call from unnest($6::bigint[]) with ordinality as each (client, call)
  where each.client in (select client from same)
    and not exists (select from asked where asked.call = each.call and asked.key not in (select key from roomy))
    and not exists (
      select from unnest($12::bigint[], $13::bytea[]) as lock (call, key)
      join lockout on lockout.key = lock.key
      where lock.call = each.call and lockout.locked_until_us > $11::bigint
    )
    and not (select ${isLateText} from (select count(*) from held) as all_held)
), taken as materialized (
  select asked.call, asked.key, asked.step_us, asked.span_us,
    least(held.before_us, $11::bigint + asked.span_us)
      + asked.step_us * row_number() over (partition by asked.key order by asked.call) as full_at_us
  from asked join granted on granted.call = asked.call join held on held.key = asked.key
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
  where asked.key not in (select key from held) and exists (select from rate_limit where rate_limit.key = asked.key)
  group by asked.call
)`

export function countedCallsValues(calls: readonly TaggedCall[]): readonly unknown[] {
  const { clients, ofCalls } = distinctClients(calls)
  const asks = calls.flatMap(({ counting }, i) => counting.asks.map((ask) => ({ ...ask, call: i + 1 })))
  const locks = calls.flatMap(({ counting }, i) => counting.locks.map((key) => ({ key, call: i + 1 })))
  return [
    ...[0, 1, 2, 3].map((column) => clients.map(({ values }) => values[column])),
    clients.map((client) => client.tag),
    ofCalls,
    asks.map(({ call }) => call),
    asks.map(({ key }) => Buffer.from(key)),
    asks.map(({ window }) => stepMicros(window)),
    asks.map(({ window }) => spanMicros(window)),
    micros(Math.max(...calls.map(({ counting }) => counting.nowMs))),
    locks.map(({ call }) => call),
    locks.map(({ key }) => Buffer.from(key)),
  ]
}

/** The clients without repetition, and the place of each call's client among them, from 1. */
function distinctClients(calls: readonly TaggedCall[]) {
  const clients: { readonly values: readonly unknown[]; readonly tag: string }[] = []
  const places = new Map<string, number>()
  const ofCalls = calls.map(({ client, tag }) => {
    const values = clientValues(client)
    const name = JSON.stringify([...values.slice(0, 3), tag])
    const place = places.get(name) ?? clients.push({ values, tag })
    places.set(name, place)
    return place
  })
  return { clients, ofCalls }
}

/** The result of each call, in order, from the rows of `answered`. */
export function answersOf<Call extends TaggedCall, Row extends CallRow, Answer>(
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
