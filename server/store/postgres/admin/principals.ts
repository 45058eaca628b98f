import type { PatId, PrincipalId, ProviderAccountId } from "@signet/kernel/ids"
import { longestCertificateMs } from "@signet/kernel/machine/envelope-certificate"
import { type CredentialCounts, type Principals, reactivationMs } from "@signet/kernel/machine/ports"
import { keyCredentialId } from "@signet/kernel/machine/service-account"
import { longestTokenMs } from "@signet/kernel/token/claims"
import { longestContextMs } from "@signet/kernel/token/context-claims"
import { only } from "../page.ts"
import { endWhere } from "../session/session-endings.ts"
import { at, type Database, run } from "../sql.ts"
import { revocations } from "../token/revocations.ts"
import { raiseAuthorityEverywhere } from "./authority.ts"
import { principalColumns, principalFromRow } from "./principal-row.ts"

const countSessionsText = `select provider_account_id as account, count(*)::int as count from (
  select provider_account_id from session where principal_id = $1 and status = 'ACTIVE'
    and idle_expires_at > $2 and absolute_expires_at > $2 limit $3) as active group by 1`

const countMachineCredentialsText = `select
  (select count(*)::int from (
    select from pat where principal_id = $1 and revoked_at is null and expires_at > $2 limit $3) as active) as pats,
  (select count(*)::int from (
    select from service_account as account, lateral (
      select from service_secret where service_account_id = account.id and revoked_at is null and expires_at > $2
      union all select from service_key where service_account_id = account.id and revoked_at is null) as credential
    where account.principal_id = $1 limit $3) as active) as secrets`

async function countCredentials(db: Database, of: readonly unknown[]): Promise<CredentialCounts> {
  const sessions = await run<{ account: ProviderAccountId; count: number }>(db, countSessionsText, of)
  const [counts] = await run<{ pats: number; secrets: number }>(db, countMachineCredentialsText, of)
  return {
    sessions: sessions.reduce((sum, { count }) => sum + count, 0),
    sessionsByAccount: new Map(sessions.map(({ account, count }) => [account, count])),
    pats: counts?.pats ?? 0,
    secrets: counts?.secrets ?? 0,
  }
}

export function principals(db: Database): Principals {
  return {
    async lock(id) {
      const query = db.selectFrom("principal").select(principalColumns).where("id", "=", id).forUpdate()
      const row = await query.executeTakeFirst()
      return row && principalFromRow(row)
    },

    async end(id, status, nowMs) {
      // A suspended principal may become deactivated. A deactivated or deleted one does not change here.
      const from =
        status === "SUSPENDED" ? (["ACTIVE", "LOCKED"] as const) : (["ACTIVE", "LOCKED", "SUSPENDED"] as const)
      const changed = await db
        .updateTable("principal")
        .set({ status, deactivated_at: status === "DEACTIVATED" ? at(nowMs) : null, ...noLock })
        .where("id", "=", id)
        .where("status", "in", from)
        .returning("id")
        .execute()
      if (changed.length === 0) return false
      await endCredentials(db, id, nowMs)
      await raiseAuthorityEverywhere(db, id)
      return true
    },

    countCredentials: (id, nowMs, most) => countCredentials(db, [id, at(nowMs), most]),

    async resume(id, nowMs) {
      const changed = await db
        .updateTable("principal")
        .set({ status: "ACTIVE" })
        .where("id", "=", id)
        .where("status", "=", "SUSPENDED")
        .returning("id")
        .execute()
      return changed.length === 1 && comeBack(db, id, nowMs)
    },

    async lockUntil(id, { expiresAtMs, reason }, nowMs) {
      const changed = await db
        .updateTable("principal")
        .set({ status: "LOCKED", lock_expires_at: at(expiresAtMs), lock_reason: reason })
        .where("id", "=", id)
        .where("status", "in", ["ACTIVE", "LOCKED"])
        .returning("id")
        .execute()
      if (changed.length === 0) return false
      // Tokens and envelope certificates from before the lock outlive a short lock, so the entry lasts as long as they
      // do.
      const entryExpiresAtMs = Math.max(expiresAtMs, nowMs + longestCertificateMs)
      await revocations(db).add([{ kind: "PRINCIPAL", key: id, expiresAtMs: entryExpiresAtMs }])
      await raiseAuthorityEverywhere(db, id)
      return true
    },

    async unlock(id, nowMs) {
      const changed = await db
        .updateTable("principal")
        .set({ status: "ACTIVE", ...noLock })
        .where("id", "=", id)
        .where("status", "=", "LOCKED")
        .returning("id")
        .execute()
      return changed.length === 1 && comeBack(db, id, nowMs)
    },

    async listLocked({ size, before }) {
      let query = db.selectFrom("principal").select(principalColumns).where("lock_expires_at", "is not", null)
      if (before !== null) {
        const { expiresAtMs, id } = before
        query = query.where(({ eb }) => eb(eb.refTuple("lock_expires_at", "id"), "<", eb.tuple(at(expiresAtMs), id)))
      }
      const rows = await query.orderBy("lock_expires_at", "desc").orderBy("id", "desc").limit(size).execute()
      return rows.map(principalFromRow)
    },

    async listDueUnlocks(nowMs, limit) {
      const query = db.selectFrom("principal").select("id").where("lock_expires_at", "<=", at(nowMs))
      const rows = await query.orderBy("lock_expires_at").limit(limit).execute()
      return rows.map(({ id }) => id)
    },

    async reactivate(id, nowMs) {
      const changed = await db
        .updateTable("principal")
        .set({ status: "ACTIVE", deactivated_at: null })
        .where("id", "=", id)
        .where("status", "=", "DEACTIVATED")
        .where("deactivated_at", ">", at(nowMs - reactivationMs))
        .returning("id")
        .execute()
      return changed.length === 1 && comeBack(db, id, nowMs)
    },
  }
}

export const noLock = { lock_expires_at: null, lock_reason: null }

/** Lifts the revocation. Revoked credentials stay revoked; later sign-ins are valid. */
async function comeBack(db: Database, id: PrincipalId, nowMs: number): Promise<true> {
  await revocations(db).lift({ kind: "PRINCIPAL", key: id }, nowMs)
  await raiseAuthorityEverywhere(db, id)
  return true
}

/** Revokes the principal and its sessions, personal access tokens, secrets and keys, and publishes the revocations. */
export async function endCredentials(db: Database, id: PrincipalId, nowMs: number): Promise<void> {
  await endWhere(db, [only("principal_id", id)], "principal_ended", nowMs)
  const pats = await endPats(db, id, nowMs)
  const ofService = [...(await endSecrets(db, id, nowMs)), ...(await endEnvelopeKeys(db, id, nowMs))]
  const expiresAtMs = nowMs + longestTokenMs
  const lastContextMs = nowMs + longestContextMs
  await revocations(db).add([
    { kind: "PRINCIPAL", key: id, expiresAtMs },
    ...pats.map((key) => ({ kind: "CREDENTIAL", key, expiresAtMs }) as const),
    ...ofService.map((key) => ({ kind: "CREDENTIAL", key, expiresAtMs: lastContextMs }) as const),
  ])
}

async function endEnvelopeKeys(db: Database, id: PrincipalId, nowMs: number): Promise<readonly string[]> {
  const accounts = db.selectFrom("service_account").select("id").where("principal_id", "=", id)
  const ended = await db
    .updateTable("envelope_key")
    .set({ revoked_at: at(nowMs) })
    .where("service_account_id", "in", accounts)
    .where("revoked_at", "is", null)
    .returning("kid")
    .execute()
  return ended.map((row) => row.kid)
}

export async function endPats(db: Database, id: PrincipalId, nowMs: number): Promise<readonly PatId[]> {
  const ended = await db
    .updateTable("pat")
    .set({ revoked_at: at(nowMs), revoke_reason: "PRINCIPAL_ENDED" })
    .where("principal_id", "=", id)
    .where("revoked_at", "is", null)
    .returning("id")
    .execute()
  return ended.map((row) => row.id)
}

/** Revokes the secrets and keys of the principal's service account, if it has one. */
async function endSecrets(db: Database, id: PrincipalId, nowMs: number): Promise<readonly string[]> {
  const account = await db.selectFrom("service_account").select("id").where("principal_id", "=", id).executeTakeFirst()
  if (account === undefined) return []
  const secrets = await db
    .updateTable("service_secret")
    .set({ revoked_at: at(nowMs) })
    .where("service_account_id", "=", account.id)
    .where("revoked_at", "is", null)
    .returning("id")
    .execute()
  const keys = await db
    .updateTable("service_key")
    .set({ revoked_at: at(nowMs) })
    .where("service_account_id", "=", account.id)
    .where("revoked_at", "is", null)
    .returning("kid")
    .execute()
  return [...secrets.map((row) => row.id), ...keys.map((row) => keyCredentialId(account.id, row.kid))]
}
