import type { RefreshTokens } from "@signet/kernel/ports"
import type { Selectable } from "kysely"
import type { RefreshTokenTable } from "../schema.ts"
import { at, type Database, insertInto, run } from "../sql.ts"
import { findRefreshFacts } from "./refresh-facts.ts"
import { refreshTokenRows } from "./refresh-token-row.ts"

const { columns } = refreshTokenRows
const insertText = insertInto("refresh_token", columns)
const findText = `select ${columns.join(", ")} from refresh_token where token_hash = any($1::bytea[]) limit 1`
// Compares and swaps, although the caller holds the session's lock: even a mistake cannot make a second successor.
const rotateText = `with rotated as (
  update refresh_token set used_at = $1, rotated_at = $1, retry_key_hash = $4, successor_sealed = $5
  where id = $2 and rotated_at is null and revoked_at is null
  returning session_id, previous_token_id
), confirmed as (
  update refresh_token set confirmed_at = $1, retry_key_hash = null, successor_sealed = null
  where id = (select previous_token_id from rotated) and confirmed_at is null
), refreshed as (
  update session set rotation = rotation + 1, last_refreshed_at = $1, idle_expires_at = $3
  where id = (select session_id from rotated) and status = 'ACTIVE'
)
insert into refresh_token (${columns.join(", ")})
select ${columns.map((_, i) => `$${i + 6}`).join(", ")} from rotated returning id`

export function refreshTokens(db: Database): RefreshTokens {
  return {
    async insert(token) {
      await run(db, insertText, refreshTokenRows.values(token))
    },

    async find(tokenHashes) {
      const [row] = await run<Selectable<RefreshTokenTable>>(db, findText, [tokenHashes])
      return row && refreshTokenRows.fromRow(row)
    },

    findWithFacts: (tokenHashes, session) => findRefreshFacts(db, tokenHashes, session),

    async rotate(id, { nowMs, idleExpiresAtMs, retryKeyHash, successorSealed }, successor) {
      if (successor.previousTokenId !== id) throw new RangeError("the successor belongs to another token")
      const change = [at(nowMs), id, at(idleExpiresAtMs), retryKeyHash, successorSealed]
      const rotated = await run(db, rotateText, [...change, ...refreshTokenRows.values(successor)])
      if (rotated.length !== 1) throw new Error("a refresh token was rotated without its session's lock")
    },
  }
}
