import type { AssertionUses, Revocations } from "@signet/kernel/machine/ports"
import type { Revocation } from "@signet/kernel/machine/records"
import { at, type Database, run } from "../sql.ts"

// A changed entry is published again: it is pending for a new sequence number, and keeps the old one until then.
const addText = `insert into revocation (kind, key, app_id, min_version, expires_at, issued_before)
select kind, key, app_id, max(min_version), max(expires_at), max(issued_before)
from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[], $6::timestamptz[])
  as entry (kind, key, app_id, min_version, expires_at, issued_before)
group by kind, key, app_id
on conflict (kind, key, app_id) do update set
  min_version = greatest(revocation.min_version, excluded.min_version),
  expires_at = greatest(revocation.expires_at, excluded.expires_at),
  issued_before = case when excluded.issued_before is not null
    then greatest(revocation.issued_before, excluded.issued_before) end,
  is_pending = true`
const liftText = `update revocation set issued_before = date_trunc('second', $3::timestamptz), is_pending = true
where kind = $1 and key = $2 and issued_before is null`
const findText = `select kind, key, app_id, min_version, expires_at, issued_before from revocation
where key = any($1::text[]) and expires_at > $2 order by kind, key, app_id`
// Waits for a concurrent call with the same assertion.
const useText = `insert into client_assertion_use (client_id, jti, expires_at) values ($1, $2, $3)
on conflict (client_id, jti) do nothing returning 1`

const revoking = new WeakSet<Database>()

/** True if the transaction revoked anything. */
export const hasRevoked = (trx: Database): boolean => revoking.has(trx)

export function revocations(db: Database): Revocations {
  return {
    async add(entries) {
      if (entries.length === 0) return
      revoking.add(db)
      await run(db, addText, [
        entries.map(({ kind }) => kind),
        entries.map(({ key }) => key),
        entries.map((entry) => (entry.kind === "AUTHORITY" ? entry.appId : "")),
        entries.map((entry) => ("minVersion" in entry ? entry.minVersion : null)),
        entries.map(({ expiresAtMs }) => at(expiresAtMs).toISOString()),
        entries.map((entry) => {
          const issuedBeforeMs = "issuedBeforeMs" in entry ? entry.issuedBeforeMs : undefined
          return issuedBeforeMs === undefined ? null : at(issuedBeforeMs).toISOString()
        }),
      ])
    },

    async lift({ kind, key }, nowMs) {
      revoking.add(db)
      await run(db, liftText, [kind, key, at(nowMs)])
    },

    async find(keys, nowMs) {
      return (await run<Row>(db, findText, [keys, at(nowMs)])).map(fromRow)
    },
  }
}

export function assertionUses(db: Database): AssertionUses {
  return {
    async use(clientId, jti, expiresAtMs) {
      return (await run(db, useText, [clientId, jti, at(expiresAtMs)])).length === 1
    },
  }
}

interface Row {
  kind: Revocation["kind"]
  key: string
  app_id: string
  min_version: string | number | null
  expires_at: Date
  issued_before: Date | null
}

// The kind determines the key's meaning and the other fields.
const fromRow = (row: Row): Revocation =>
  ({
    kind: row.kind,
    key: row.key,
    ...(row.app_id === "" ? {} : { appId: row.app_id }),
    ...(row.min_version === null ? {} : { minVersion: Number(row.min_version) }),
    ...(row.issued_before === null ? {} : { issuedBeforeMs: row.issued_before.getTime() }),
    expiresAtMs: row.expires_at.getTime(),
  }) as Revocation
