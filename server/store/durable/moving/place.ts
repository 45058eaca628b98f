// The state of a place inside its object, and the progress of notifying its objects, page by page.
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { ConversationId, PrincipalId } from "@signet/kernel/ids"
import { decideStep, type PlaceState, type PlaceStatus, type TransferStep } from "@signet/kernel/messaging/moving"
import { fromText, toText } from "../plain.ts"
import type { Sql } from "../sql.ts"

export const transferSteps = [
  `create table transfer (
    id integer primary key check (id = 1), state text not null, transfer_id blob not null, changed_at integer not null
  );
  -- What the objects are told, after which of them, and whether all were as they are to be by then.
  create table walk (
    id integer primary key check (id = 1), state text not null, phase text not null, after text not null,
    is_dirty integer not null, audit text not null
  )`,
  // Rises with each state.
  "alter table transfer add column turn integer not null default 0",
] as const

/** The state that objects get. Objects of a GIVEN place stay held. */
type ObjectState = Exclude<PlaceState, "HOLDING" | "GIVEN">

/** The next objects to notify, their new state, and its turn. */
export type WalkPage = { readonly state: ObjectState; readonly turn: number } & (
  | { readonly phase: "users"; readonly ids: readonly PrincipalId[] }
  | { readonly phase: "conversations"; readonly ids: readonly ConversationId[] }
)

const usersAtOnce = 20
const conversationsAtOnce = 50

export function transferOf(sql: Sql): PlaceStatus {
  type Row = { state: PlaceState; transfer_id: Uint8Array; changed_at: number }
  const row = sql.row<Row>("select state, transfer_id, changed_at from transfer")
  const isEmpty = sql.row("select 1 from conversation union all select 1 from user limit 1") === undefined
  if (row === undefined) return { state: "OPEN", transferId: null, changedAtMs: null, isEmpty }
  const transferId = row.transfer_id.length === 0 ? null : row.transfer_id
  return { state: row.state, transferId, changedAtMs: row.changed_at, isEmpty }
}

/** The id of no transfer is stored as no bytes. */
const put = (sql: Sql, state: PlaceState, transferId: Uint8Array | null, nowMs: number): void =>
  sql.run(
    `insert into transfer (id, state, transfer_id, changed_at, turn) values (1, ?, ?, ?, 1)
    on conflict (id) do update set state = excluded.state, transfer_id = excluded.transfer_id,
      changed_at = excluded.changed_at, turn = turn + (state <> excluded.state)`,
    state,
    transferId ?? new Uint8Array(),
    nowMs,
  )

const turnOf = (sql: Sql): number => sql.row<{ turn: number }>("select turn from transfer")?.turn ?? 0

export interface StepAsked {
  readonly step: Exclude<TransferStep, "ERASE">
  readonly transferId: Uint8Array
  readonly nowMs: number
  readonly audit: AuditEvent
}

/** Requires a transaction. @returns False when the step does not follow the current state. */
export function beginStep(
  sql: Sql,
  { step, transferId, nowMs, audit }: StepAsked,
  append: (events: readonly AuditEvent[]) => void,
): boolean {
  const decision = decideStep(step, transferOf(sql), transferId)
  if (decision.is === "refuse") return false
  if (decision.is === "there") return true
  const { to } = decision
  if (to === "HOLDING") return true
  put(sql, to === "HELD" ? "HOLDING" : to, decision.transferId, nowMs)
  if (to !== "HELD") append([audit])
  if (to === "GIVEN") return true
  const isKnown = to === "HELD" && sql.row("select 1 from walk where state = 'HELD'") !== undefined
  // A place that starts to receive has no objects to notify, and an aborted import is erased.
  if (step !== "RECEIVE" && !(step === "ABORT" && to === "MOVED") && !isKnown) {
    sql.run(
      `insert or replace into walk (id, state, phase, after, is_dirty, audit) values (1, ?, 'users', '', 0, ?)`,
      to,
      toText(audit),
    )
  }
  return true
}

interface WalkRow {
  state: ObjectState
  phase: WalkPage["phase"]
  after: string
  is_dirty: number
  audit: string
}

/** Undefined after all objects were notified. */
export function nextWalk(sql: Sql): WalkPage | undefined {
  const row = sql.row<WalkRow>("select * from walk")
  if (row === undefined) return undefined
  const { phase, state } = row
  const turn = turnOf(sql)
  if (phase === "users") return { phase, state, turn, ids: after<PrincipalId>(sql, "user", row.after, usersAtOnce) }
  return { phase, state, turn, ids: after<ConversationId>(sql, "conversation", row.after, conversationsAtOnce) }
}

const after = <Id extends string>(sql: Sql, table: string, id: string, limit: number): Id[] =>
  sql.rows<{ id: Id }>(`select id from ${table} where id > ? order by id limit ?`, id, limit).map((row) => row.id)

/**
 * Requires a transaction. Records that these objects were notified. If any object was dirty, all are notified again:
 * its outbox may have changed objects that were notified before.
 */
export function walked(
  sql: Sql,
  page: WalkPage,
  isDirty: boolean,
  nowMs: number,
  append: (events: readonly AuditEvent[]) => void,
) {
  const row = sql.row<WalkRow>("select * from walk")
  // A concurrent call came first.
  if (row === undefined || page.turn !== turnOf(sql) || row.phase !== page.phase) return
  const dirty = isDirty || row.is_dirty === 1
  const last = page.ids.at(-1)
  if (last !== undefined) return sql.run("update walk set after = ?, is_dirty = ?", last, dirty)
  if (page.phase === "users") return sql.run("update walk set phase = 'conversations', after = '', is_dirty = ?", dirty)
  if (dirty) return sql.run("update walk set phase = 'users', after = '', is_dirty = 0")
  sql.run("delete from walk")
  const { state, transferId } = transferOf(sql)
  if (state !== "HOLDING" || transferId === null) return
  put(sql, "HELD", transferId, nowMs)
  append([fromText<AuditEvent>(row.audit)])
}
