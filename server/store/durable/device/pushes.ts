// The push endpoint of one device, inside its object, and when its next push is due.
import { type PushDecision, type PushEndpoint, pushDueAt, pushLimits } from "@signet/kernel/messaging/push"
import type { Timed } from "../alarm.ts"
import { fromText, toText } from "../plain.ts"
import type { Sql } from "../sql.ts"

export const pushSteps = [
  `create table push (
    id integer primary key check (id = 1), registration_id blob not null, endpoint text not null,
    tries integer not null, not_before integer not null, due_at integer
  )`,
  // An endpoint of an earlier version is due for its check at once.
  "alter table push add column check_at integer not null default 0",
] as const

type Given = Omit<PushEndpoint, "tries">

// The interval of the device outlives the registration, also a deleted one: a device that registers again gets no more
// pushes.
const setText = `insert into push (id, registration_id, endpoint, tries, not_before, due_at, check_at)
values (1, ?, ?, 0, ?, null, ?)
on conflict (id) do update set registration_id = excluded.registration_id, endpoint = excluded.endpoint, tries = 0,
  check_at = excluded.check_at`

/** Requires a transaction, as every function here that writes. */
export const setPush = (sql: Sql, endpoint: Given, nowMs: number): void =>
  sql.run(setText, endpoint.registrationId, toText(endpoint), nowMs + pushLimits.everyMs, nowMs + pushLimits.checkMs)

/** @returns True if there was such an endpoint. */
export function deletePush(sql: Sql, registrationId: Uint8Array | null): boolean {
  const text = "delete from push where registration_id = coalesce(?, registration_id) returning id"
  return sql.row<{ id: number }>(text, registrationId) !== undefined
}

/** @param random From 0 to 1, exclusive. */
export function schedulePush(sql: Sql, nowMs: number, random: number): void {
  const row = sql.row<{ not_before: number }>("select not_before from push where due_at is null")
  if (row === undefined) return
  sql.run("update push set due_at = ?, tries = 0", pushDueAt(row.not_before, nowMs, random))
}

const nextPush = (sql: Sql): number | null =>
  sql.row<{ due_at: number | null }>("select due_at from push")?.due_at ?? null

/** Takes the due push, once. */
function takePush(sql: Sql, nowMs: number): PushEndpoint | undefined {
  const text = "update push set due_at = null, not_before = ? where due_at <= ? returning endpoint, tries"
  const row = sql.row<{ endpoint: string; tries: number }>(text, nowMs + pushLimits.everyMs, nowMs)
  return row && { ...fromText<Given>(row.endpoint), tries: row.tries }
}

const nextPushCheck = (sql: Sql): number | null =>
  sql.row<{ check_at: number }>("select check_at from push")?.check_at ?? null

/** Begins the check of the endpoint, if it is due. */
function takePushCheck(sql: Sql, nowMs: number): PushEndpoint | undefined {
  const text = "update push set check_at = ? where check_at <= ? returning endpoint, tries"
  const row = sql.row<{ endpoint: string; tries: number }>(text, nowMs + pushLimits.checkMs, nowMs)
  return row && { ...fromText<Given>(row.endpoint), tries: row.tries }
}

/** A registration that was replaced stays unchanged. */
function pushed(sql: Sql, { registrationId, tries }: PushEndpoint, decision: PushDecision): void {
  if (decision.is === "delete") deletePush(sql, registrationId)
  if (decision.is !== "retry") return
  const text = "update push set due_at = ?, not_before = ?, tries = ? where registration_id = ?"
  sql.run(text, decision.atMs, decision.atMs, tries + 1, registrationId)
}

interface Pushing {
  transact<T>(work: () => T): T
  push(endpoint: PushEndpoint): Promise<PushDecision>
  /** True if the endpoint may get pushes. */
  keeps(endpoint: PushEndpoint): Promise<boolean>
}

/**
 * Sends the due push, and checks the endpoint once a day: the object does not learn of the end of a session, or of a
 * change of the operator's settings.
 */
export const timedPushes = (sql: Sql, { transact, push, keeps }: Pushing): readonly Timed[] => [
  {
    nextAtMs: () => nextPush(sql),
    async run(nowMs) {
      const endpoint = transact(() => takePush(sql, nowMs))
      if (endpoint === undefined) return
      const decision = await push(endpoint)
      transact(() => pushed(sql, endpoint, decision))
    },
  },
  {
    nextAtMs: () => nextPushCheck(sql),
    async run(nowMs) {
      const endpoint = transact(() => takePushCheck(sql, nowMs))
      if (endpoint === undefined || (await keeps(endpoint))) return
      transact(() => deletePush(sql, endpoint.registrationId))
    },
  },
]
