import type { LimitRefusal, LimitRefusals } from "@signet/kernel/limits/ports"
import type { Selectable } from "kysely"
import { type Database, run } from "../sql.ts"
import type { LimitRefusalTable } from "./limit-schema.ts"

const columns = "key, kind, name, network, principal_id, refused_at_us, until_us"

const noteText = `insert into limit_refusal as kept (${columns}) values ($1, $2, $3, $4, $5, $6, $7)
on conflict (key) do update set until_us = excluded.until_us,
  refused_at_us = case when kept.until_us <= excluded.refused_at_us then excluded.refused_at_us else kept.refused_at_us end,
  network = excluded.network, principal_id = excluded.principal_id`

const listText = `select ${columns} from limit_refusal where until_us > $1::bigint
and ($3::bigint is null or (until_us, key) < ($3::bigint, $4::bytea))
order by until_us desc, key desc limit $2`

// Bucket, lock and refusal in one statement: a call that counts meanwhile waits for the row.
const liftText = `with lifted as (delete from limit_refusal where key = $1 and until_us > $2::bigint returning ${columns}),
bucket as (delete from rate_limit where key in (select key from lifted)),
lock as (delete from lockout where key in (select key from lifted))
select ${columns} from lifted`

export function limitRefusals(db: Database): LimitRefusals {
  return {
    async note({ key, kind, name, network, principalId, refusedAtMs, untilMs }) {
      await run(db, noteText, [
        Buffer.from(key),
        kind,
        name,
        network,
        principalId,
        micros(refusedAtMs),
        micros(untilMs),
      ])
    },

    async list(nowMs, { size, before }) {
      const after = before === null ? [null, null] : [micros(before.untilMs), Buffer.from(before.key)]
      const rows = await run<Row>(db, listText, [micros(nowMs), size, ...after])
      return rows.map(refusalOf)
    },

    async lift(key, nowMs) {
      const [row] = await run<Row>(db, liftText, [Buffer.from(key), micros(nowMs)])
      return row && refusalOf(row)
    },
  }
}

type Row = Selectable<LimitRefusalTable>

const micros = (ms: number): number => Math.round(ms * 1_000)

const refusalOf = (row: Row): LimitRefusal => ({
  key: new Uint8Array(row.key),
  kind: row.kind,
  name: row.name,
  network: row.network,
  principalId: row.principal_id,
  refusedAtMs: row.refused_at_us / 1_000,
  untilMs: row.until_us / 1_000,
})
