// Maps refresh tokens to rows.
import type { RefreshToken } from "@signet/kernel/records"
import type { Selectable } from "kysely"
import type { RefreshTokenTable } from "../schema.ts"
import { at, atOrNull, bytes, bytesOrNull, msOrNull } from "../sql.ts"

export const refreshTokenColumns = [
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

export const refreshTokenFromRow = (row: Selectable<RefreshTokenTable>): RefreshToken => ({
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

export const refreshTokenToRow = (token: RefreshToken): RefreshTokenTable => ({
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
