// Maps refresh tokens to rows.
import type { RefreshToken } from "@signet/kernel/records"
import { bytea, instant, rowMapping } from "../row-mapping.ts"
import type { RefreshTokenTable } from "../schema.ts"

export const refreshTokenRows = rowMapping<RefreshToken, RefreshTokenTable>({
  id: "id",
  sessionId: "session_id",
  tokenHash: bytea("token_hash"),
  familyId: "family_id",
  previousTokenId: "previous_token_id",
  createdAtMs: instant("created_at"),
  usedAtMs: instant("used_at"),
  rotatedAtMs: instant("rotated_at"),
  expiresAtMs: instant("expires_at"),
  revokedAtMs: instant("revoked_at"),
  retryKeyHash: bytea("retry_key_hash"),
  successorSealed: bytea("successor_sealed"),
  confirmedAtMs: instant("confirmed_at"),
})

/** The types of the columns, for statements with arrays of them. */
export const refreshTokenTypes = {
  id: "text",
  session_id: "text",
  token_hash: "bytea",
  family_id: "text",
  previous_token_id: "text",
  created_at: "timestamptz",
  used_at: "timestamptz",
  rotated_at: "timestamptz",
  expires_at: "timestamptz",
  revoked_at: "timestamptz",
  retry_key_hash: "bytea",
  successor_sealed: "bytea",
  confirmed_at: "timestamptz",
} as const satisfies Record<keyof RefreshTokenTable, string>
