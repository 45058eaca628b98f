import type { AssertionUses, Revocations } from "@signet/kernel/machine-ports"
import type { Revocation } from "@signet/kernel/machine-records"
import { at, type Database, run } from "./sql.ts"

const addText = `insert into revocation (kind, key, expires_at)
select distinct on (kind, key) kind, key, expires_at
from unnest($1::text[], $2::text[], $3::timestamptz[]) as entry (kind, key, expires_at)
order by kind, key, expires_at desc
on conflict (kind, key) do update set expires_at = greatest(revocation.expires_at, excluded.expires_at)`
const findText = "select kind, key, expires_at from revocation where key = any($1::text[]) and expires_at > $2"
// Waits for a call that is under way with the same assertion.
const useText = `insert into client_assertion_use (client_id, jti, expires_at) values ($1, $2, $3)
on conflict (client_id, jti) do nothing returning 1`

export function revocations(db: Database): Revocations {
  return {
    async add(entries) {
      if (entries.length === 0) return
      await run(db, addText, [
        entries.map(({ kind }) => kind),
        entries.map(({ key }) => key),
        entries.map(({ expiresAtMs }) => at(expiresAtMs).toISOString()),
      ])
    },

    async find(keys, nowMs) {
      const rows = await run<{ kind: Revocation["kind"]; key: string; expires_at: Date }>(db, findText, [
        keys,
        at(nowMs),
      ])
      return rows.map(fromRow)
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

// The kind says what the key is.
const fromRow = (row: { kind: Revocation["kind"]; key: string; expires_at: Date }): Revocation =>
  ({ kind: row.kind, key: row.key, expiresAtMs: row.expires_at.getTime() }) as Revocation
