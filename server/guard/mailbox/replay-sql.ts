// A replay store in PostgreSQL: shared by several processes, and kept over restarts.
import type { Clock } from "@signet/kernel/ports"
import type { ReplayStore } from "./replay.ts"

/** Runs one statement in its own transaction at READ COMMITTED. */
export type Query = (
  text: string,
  parameters: readonly unknown[],
) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** The table, for the service's own migration. */
export const replayTable = `create table if not exists handled_envelope (
  key text primary key,
  holder text not null,
  lease_ends_at timestamptz not null,
  forget_at timestamptz not null,
  is_done boolean not null default false
)`

const claimText = `insert into handled_envelope (key, holder, lease_ends_at, forget_at) values ($1, $2, $3, $4)
on conflict (key) do update
set holder = excluded.holder, lease_ends_at = excluded.lease_ends_at
where not handled_envelope.is_done and handled_envelope.lease_ends_at <= $5
returning 1 as claimed`
const doneText = "select is_done from handled_envelope where key = $1"

export interface SqlReplay extends ReplayStore {
  /** Deletes expired rows. Call it every few minutes. */
  sweep(): Promise<void>
}

export function createSqlReplay({ query, clock }: { query: Query; clock: Clock }): SqlReplay {
  const at = (ms: number) => new Date(ms).toISOString()
  const isDone = async (key: string) => (await query(doneText, [key]))[0]?.is_done === true
  return {
    isDone,
    async claim(key, { holder, leaseEndsAtMs, forgetAtMs }) {
      const values = [key, holder, at(leaseEndsAtMs), at(forgetAtMs), at(clock.nowMs())]
      if ((await query(claimText, values)).length === 1) return "claimed"
      return (await isDone(key)) ? "done" : "busy"
    },
    async finish(key) {
      await query("update handled_envelope set is_done = true where key = $1", [key])
    },
    async release(key, holder) {
      await query("delete from handled_envelope where key = $1 and holder = $2 and not is_done", [key, holder])
    },
    async sweep() {
      await query("delete from handled_envelope where forget_at <= $1", [at(clock.nowMs())])
    },
  }
}
