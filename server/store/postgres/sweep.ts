// Deletes expired records in small batches: no statement holds many locks or writes much log at once.
import { skewSeconds } from "@signet/kernel/token/claims"
import { CompiledQuery } from "kysely"
import { eraseOldDays } from "./audit/audit-keys.ts"
import { retried } from "./retry.ts"
import { at, type Database } from "./sql.ts"

/**
 * How long ended sessions and expired tokens and secrets are kept, so that the reuse of a copied token is recognized.
 */
const keepMs = 90 * 86_400_000
const batch = 1_000
/** Batches of each kind in one sweep; the next sweep continues. */
const mostBatches = 50

interface Swept {
  idTokenUses: number
  magicLinks: number
  /** Sealed successors erased because their retry window ended or they were confirmed. */
  sealedSuccessors: number
  refreshTokens: number
  sessions: number
  revocations: number
  assertionUses: number
  pats: number
  secrets: number
  /** Full buckets, expired lockouts, and refusals by either. */
  limits: number
}

const deleteIdTokenUses = `delete from id_token_use where token_hash in (
  select token_hash from id_token_use where expires_at <= $1 order by expires_at limit ${batch} for update skip locked)`

const deleteMagicLinks = `delete from magic_link_request where id in (
  select id from magic_link_request where expires_at <= $1 order by expires_at limit ${batch} for update skip locked)`

const eraseSuccessors = `update refresh_token set successor_sealed = null, retry_key_hash = null where id in (
  select refresh_token.id from refresh_token
  join session on session.id = refresh_token.session_id
  join app on app.id = session.app_id
  where refresh_token.successor_sealed is not null and (
    refresh_token.confirmed_at is not null
    or refresh_token.rotated_at + app.retry_window_seconds * interval '1 second' <= $1)
  limit ${batch} for update of refresh_token skip locked)`

const deleteRefreshTokens = `delete from refresh_token where id in (
  select id from refresh_token where expires_at <= $1 order by expires_at limit ${batch} for update skip locked)`

// No token expires after its session, so the tokens were deleted before.
const deleteSessions = `delete from session where id in (
  select id from session where absolute_expires_at <= $1
  order by absolute_expires_at limit ${batch} for update skip locked)`

const deleteRevocations = `delete from revocation where (kind, key, app_id) in (
  select kind, key, app_id from revocation where expires_at <= $1 order by expires_at limit ${batch} for update skip locked)`

const deleteAssertionUses = `delete from client_assertion_use where (client_id, jti) in (
  select client_id, jti from client_assertion_use where expires_at <= $1
  order by expires_at limit ${batch} for update skip locked)`

const deleteExpired = (table: "pat" | "service_secret") => `delete from ${table} where id in (
  select id from ${table} where expires_at <= $1 order by expires_at limit ${batch} for update skip locked)`

const deleteFullBuckets = `delete from rate_limit where key in (
  select key from rate_limit where full_at_us <= $1::bigint limit ${batch} for update skip locked)`

const deleteForgottenLocks = `delete from lockout where key in (
  select key from lockout where forgotten_at_us <= $1::bigint limit ${batch} for update skip locked)`

const deleteEndedRefusals = `delete from limit_refusal where key in (
  select key from limit_refusal where until_us <= $1::bigint order by until_us limit ${batch} for update skip locked)`

/**
 * Deletes expired records. Several processes may sweep at once; one sweep every few minutes is enough.
 *
 * @param nowMs Milliseconds since the Unix epoch.
 */
export async function sweep(db: Database, nowMs: number): Promise<Swept> {
  const now = at(nowMs)
  const kept = at(nowMs - keepMs)
  await retried(() => eraseOldDays(db, nowMs, keepMs))
  return {
    idTokenUses: await inBatches(db, deleteIdTokenUses, now),
    magicLinks: await inBatches(db, deleteMagicLinks, now),
    sealedSuccessors: await inBatches(db, eraseSuccessors, now),
    refreshTokens: await inBatches(db, deleteRefreshTokens, kept),
    sessions: await inBatches(db, deleteSessions, kept),
    revocations: await inBatches(db, deleteRevocations, at(nowMs - skewSeconds * 1_000)),
    assertionUses: await inBatches(db, deleteAssertionUses, now),
    pats: await inBatches(db, deleteExpired("pat"), kept),
    secrets: await inBatches(db, deleteExpired("service_secret"), kept),
    limits:
      (await inBatches(db, deleteFullBuckets, nowMs * 1_000)) +
      (await inBatches(db, deleteForgottenLocks, nowMs * 1_000)) +
      (await inBatches(db, deleteEndedRefusals, nowMs * 1_000)),
  }
}

async function inBatches(db: Database, text: string, until: Date | number): Promise<number> {
  let all = 0
  for (let i = 0; i < mostBatches; i++) {
    const { numAffectedRows } = await retried(() => db.executeQuery(CompiledQuery.raw(text, [until])))
    all += Number(numAffectedRows ?? 0)
    if (Number(numAffectedRows ?? 0) < batch) break
  }
  return all
}
