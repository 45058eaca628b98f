import type { LoggedRevocation, RevocationKind } from "@signet/kernel/revocation/entry"
import type { LogPart, RevocationLog } from "@signet/kernel/revocation/ports"
import { skewSeconds } from "@signet/kernel/token/claims"
import { longestContextMs } from "@signet/kernel/token/context-claims"
import { retried } from "../retry.ts"
import { at, type Database, run } from "../sql.ts"
import { revocations } from "./revocations.ts"

/** Sequence numbers per transaction. */
const batch = 2_000

// An update, not a lock: a second process waits for it, or is retried, at every isolation level.
const lockText = "update revocation_log set head = head where id = 1 returning head"
// Skips entries that another transaction has locked: it cannot delay all the others.
const placeText = `with pending as (
  select kind, key, app_id from revocation where is_pending or seq is null limit ${batch} for update skip locked
), placed as (
  select kind, key, app_id, $1::bigint + row_number() over () as seq from pending
)
update revocation set seq = placed.seq, is_pending = false from placed
where revocation.kind = placed.kind and revocation.key = placed.key and revocation.app_id = placed.app_id
returning revocation.seq`
const headText = "update revocation_log set head = $1 where id = 1"
// One statement, so head and entries are from one snapshot. The order leads to the index of pending entries: without it,
// PostgreSQL may read the whole table until the table is analysed.
const readText = `select log.name, log.head, (
    select true from revocation where is_pending or seq is null order by kind, key, app_id limit 1
  ) is not null as is_pending, entry.*
from revocation_log as log left join (
  select seq, kind, key, app_id, min_version, issued_before, expires_at from revocation
  where seq > $1 and expires_at > $2 order by seq limit $3
) as entry on true
order by entry.seq`
const restartText = "update revocation_log set name = gen_random_uuid()::text where id = 1"
// Above any version that was issued after the backup: snapshots and minimum versions are cached by their number.
const lostVersions = 1_000_000
const raisePoliciesText = `insert into policy_version (app_id, version, min_version)
select id, ${lostVersions}, 0 from app order by id
on conflict (app_id) do update set version = policy_version.version + ${lostVersions}`
const raiseAuthoritiesText = `insert into authority_version (principal_id, app_id, version, min_version)
select distinct principal_id, app_id, ${lostVersions}, 0 from membership order by principal_id, app_id
on conflict (principal_id, app_id) do update set version = authority_version.version + ${lostVersions}`

interface Row {
  name: string
  head: string | number
  is_pending: boolean
  seq: string | number | null
  kind: RevocationKind
  key: string
  app_id: string
  min_version: string | number | null
  issued_before: Date | null
  expires_at: Date
}

export function createRevocationLog(db: Database): RevocationLog {
  return {
    sequence: () =>
      retried(() =>
        db
          .transaction()
          .setIsolationLevel("read committed")
          .execute(async (trx) => {
            const [log] = await run<{ head: string | number }>(trx, lockText, [])
            const head = Number(log?.head ?? 0)
            const placed = await run(trx, placeText, [head])
            if (placed.length > 0) await run(trx, headText, [head + placed.length])
            return placed.length
          }),
      ),

    async read({ after, limit, nowMs }): Promise<LogPart> {
      const rows = await run<Row>(db, readText, [after, at(nowMs - skewSeconds * 1_000), limit])
      const [first] = rows
      if (first === undefined) throw new Error("the revocation log is missing")
      const entries = rows.filter((row) => row.seq !== null).map(fromRow)
      const head = Number(first.head)
      const to = entries.length < limit ? head : (entries.at(-1)?.seq ?? head)
      return { log: first.name, head, to, entries, isPending: first.is_pending }
    },
  }
}

/**
 * Starts a new log, and revokes every earlier access token and context token: a restored database lacks the revocations
 * since the backup. Every client refreshes once. No version of authority is issued twice.
 */
export async function restartRevocationLog(db: Database, nowMs: number): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await run(trx, restartText, [])
    await run(trx, raisePoliciesText, [])
    await run(trx, raiseAuthoritiesText, [])
    await revocations(trx).add([
      { kind: "ISSUER_EPOCH", key: "all", issuedBeforeMs: nowMs + 1_000, expiresAtMs: nowMs + longestContextMs },
    ])
  })
}

const fromRow = (row: Row): LoggedRevocation => ({
  seq: Number(row.seq),
  kind: row.kind,
  key: row.key,
  expiresAtMs: row.expires_at.getTime(),
  ...(row.issued_before === null ? {} : { issuedBeforeMs: row.issued_before.getTime() }),
  ...(row.app_id === "" ? {} : { appId: row.app_id }),
  ...(row.min_version === null ? {} : { minVersion: Number(row.min_version) }),
})
