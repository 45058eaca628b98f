import type { RefreshRotation, RefreshTokens } from "@signet/kernel/ports"
import type { Selectable } from "kysely"
import type { RefreshTokenTable } from "../schema.ts"
import { at, type Database, insertInto, run } from "../sql.ts"
import { findRefreshFacts } from "./refresh-facts.ts"
import { refreshTokenRows } from "./refresh-token-row.ts"

const { columns } = refreshTokenRows
const insertText = insertInto("refresh_token", columns)
const findText = `select ${columns.join(", ")} from refresh_token where token_hash = any($1::bytea[]) limit 1`
// Compares and swaps, although the caller holds the session's lock: even a mistake cannot make a second successor.
/**
 * SQL of CTEs that rotate a token. `succeeded` has the successor, and no row if the token was rotated or revoked before.
 *
 * @param first The number of the first parameter: see rotateValues.
 * @param condition An SQL condition for all writes.
 */
export function rotateCtes(first: number, condition: string): string {
  const [now, id, idle, key, sealed] = [0, 1, 2, 3, 4].map((i) => `$${first + i}`)
  return `rotated as (
  update refresh_token set used_at = ${now}, rotated_at = ${now}, retry_key_hash = ${key}, successor_sealed = ${sealed}
  where id = ${id} and rotated_at is null and revoked_at is null and ${condition}
  returning session_id, previous_token_id
), confirmed as (
  update refresh_token set confirmed_at = ${now}, retry_key_hash = null, successor_sealed = null
  where id = (select previous_token_id from rotated) and confirmed_at is null
), refreshed as (
  update session set rotation = rotation + 1, last_refreshed_at = ${now}, idle_expires_at = ${idle}
  where id = (select session_id from rotated) and status = 'ACTIVE'
), succeeded as (
  insert into refresh_token (${columns.join(", ")})
  select ${columns.map((_, i) => `$${first + 5 + i}`).join(", ")} from rotated returning id
)`
}

export function rotateValues(rotation: RefreshRotation): readonly unknown[] {
  const { tokenId, nowMs, idleExpiresAtMs, retryKeyHash, successorSealed, successor } = rotation
  if (successor.previousTokenId !== tokenId) throw new RangeError("the successor belongs to another token")
  const change = [at(nowMs), tokenId, at(idleExpiresAtMs), retryKeyHash, successorSealed]
  return [...change, ...refreshTokenRows.values(successor)]
}

const rotateText = `with ${rotateCtes(1, "true")} select id from succeeded`

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

    async rotate(tokenId, change, successor) {
      const rotated = await run(db, rotateText, rotateValues({ tokenId, ...change, successor }))
      if (rotated.length !== 1) throw new Error("a refresh token was rotated without its session's lock")
    },
  }
}
