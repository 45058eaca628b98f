import type { RefreshTokens } from "@signet/kernel/ports"
import type { RefreshToken } from "@signet/kernel/records"
import type { Selectable } from "kysely"
import type { RefreshTokenTable } from "./schema.ts"
import { at, atOrNull, bytes, bytesOrNull, type Database, insertInto, msOrNull, run } from "./sql.ts"

const columns = [
  "id",
  "session_id",
  "token_hash",
  "family_id",
  "previous_token_id",
  "created_at",
  "used_at",
  "rotated_at",
  "expires_at",
  "revoked_at",
  "retry_key_hash",
  "successor_sealed",
  "confirmed_at",
] as const satisfies readonly (keyof RefreshTokenTable)[]

const insertText = insertInto("refresh_token", columns)
const findText = `select ${columns.join(", ")} from refresh_token where token_hash = any($1::bytea[]) limit 1`
// Compares and swaps, although the caller holds the session's lock: a second successor is not possible even by mistake.
const rotateText = `update refresh_token
set used_at = $2, rotated_at = $2, retry_key_hash = $3, successor_sealed = $4
where id = $1 and rotated_at is null and revoked_at is null
returning id`
const confirmText = `update refresh_token set confirmed_at = $2, retry_key_hash = null, successor_sealed = null
where id = $1 and confirmed_at is null`

export function refreshTokens(db: Database): RefreshTokens {
  const insert = async (token: RefreshToken): Promise<void> => {
    const row = toRow(token)
    await run(
      db,
      insertText,
      columns.map((column) => row[column]),
    )
  }

  return {
    insert,

    async find(tokenHashes) {
      const [row] = await run<Selectable<RefreshTokenTable>>(db, findText, [tokenHashes])
      return row && fromRow(row)
    },

    async rotate(id, { nowMs, retryKeyHash, successorSealed }, successor) {
      if (successor.previousTokenId !== id) throw new RangeError("the successor follows another token")
      const rotated = await run(db, rotateText, [id, at(nowMs), retryKeyHash, successorSealed])
      if (rotated.length !== 1) throw new Error("a refresh token was rotated without its session's lock")
      await insert(successor)
    },

    async confirm(id, nowMs) {
      await run(db, confirmText, [id, at(nowMs)])
    },
  }
}

const fromRow = (row: Selectable<RefreshTokenTable>): RefreshToken => ({
  id: row.id,
  sessionId: row.session_id,
  tokenHash: bytes(row.token_hash),
  familyId: row.family_id,
  previousTokenId: row.previous_token_id,
  createdAtMs: row.created_at.getTime(),
  usedAtMs: msOrNull(row.used_at),
  rotatedAtMs: msOrNull(row.rotated_at),
  expiresAtMs: row.expires_at.getTime(),
  revokedAtMs: msOrNull(row.revoked_at),
  retryKeyHash: bytesOrNull(row.retry_key_hash),
  successorSealed: bytesOrNull(row.successor_sealed),
  confirmedAtMs: msOrNull(row.confirmed_at),
})

const toRow = (token: RefreshToken): RefreshTokenTable => ({
  id: token.id,
  session_id: token.sessionId,
  token_hash: token.tokenHash,
  family_id: token.familyId,
  previous_token_id: token.previousTokenId,
  created_at: at(token.createdAtMs),
  used_at: atOrNull(token.usedAtMs),
  rotated_at: atOrNull(token.rotatedAtMs),
  expires_at: at(token.expiresAtMs),
  revoked_at: atOrNull(token.revokedAtMs),
  retry_key_hash: token.retryKeyHash,
  successor_sealed: token.successorSealed,
  confirmed_at: atOrNull(token.confirmedAtMs),
})
