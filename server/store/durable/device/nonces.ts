// The nonces of one device's proofs of possession, inside its object.
import type { Sql } from "../sql.ts"

export const nonceSteps = [
  `create table nonce (nonce blob primary key, expires_at integer not null) without rowid;
  create index nonce_end on nonce (expires_at)`,
] as const

/** @returns False if the nonce was used before. */
export const useNonce = (sql: Sql, nonce: Uint8Array, expiresAtMs: number): boolean =>
  sql.row(
    "insert into nonce (nonce, expires_at) values (?, ?) on conflict do nothing returning 1",
    nonce,
    expiresAtMs,
  ) !== undefined

export const forgetNonces = (sql: Sql, nowMs: number): void => sql.run("delete from nonce where expires_at <= ?", nowMs)

export const nextNonceEnd = (sql: Sql): number | null =>
  sql.row<{ at: number | null }>("select min(expires_at) as at from nonce")?.at ?? null
