import type { PrincipalId, SessionId } from "@signet/kernel/ids"
import { keyCredentialId } from "@signet/kernel/machine/service-account"
import type { Principals } from "@signet/kernel/machine-ports"
import { longestTokenMs } from "@signet/kernel/token/claims"
import { revocations } from "./revocations.ts"
import { endActive } from "./sessions.ts"
import { at, type Database } from "./sql.ts"

export function principals(db: Database): Principals {
  return {
    async lock(id) {
      const columns = ["id", "kind", "identity_id", "status"] as const
      const row = await db.selectFrom("principal").select(columns).where("id", "=", id).forUpdate().executeTakeFirst()
      return row && { id: row.id, kind: row.kind, identityId: row.identity_id, status: row.status }
    },

    async end(id, status, nowMs) {
      // Suspended may become deactivated, and nothing that is gone comes back this way.
      const from =
        status === "SUSPENDED" ? (["ACTIVE", "LOCKED"] as const) : (["ACTIVE", "LOCKED", "SUSPENDED"] as const)
      const changed = await db
        .updateTable("principal")
        .set({ status })
        .where("id", "=", id)
        .where("status", "in", from)
        .returning("id")
        .execute()
      if (changed.length === 0) return false
      await endSessions(db, id, nowMs)
      const credentials = [...(await endPats(db, id, nowMs)), ...(await endSecrets(db, id, nowMs))]
      const expiresAtMs = nowMs + longestTokenMs
      await revocations(db).add([
        { kind: "PRINCIPAL", key: id, expiresAtMs },
        ...credentials.map((key) => ({ kind: "CREDENTIAL", key, expiresAtMs }) as const),
      ])
      return true
    },

    async resume(id) {
      const changed = await db
        .updateTable("principal")
        .set({ status: "ACTIVE" })
        .where("id", "=", id)
        .where("status", "=", "SUSPENDED")
        .returning("id")
        .execute()
      if (changed.length === 0) return false
      // What it signed in with stays ended; what it signs in with from now on counts.
      await db.deleteFrom("revocation").where("kind", "=", "PRINCIPAL").where("key", "=", id).execute()
      return true
    },
  }
}

async function endSessions(db: Database, id: PrincipalId, nowMs: number): Promise<readonly SessionId[]> {
  const found = await db
    .selectFrom("session")
    .select("id")
    .where("principal_id", "=", id)
    .where("status", "=", "ACTIVE")
    .orderBy("id")
    .forUpdate()
    .execute()
  const ids = found.map((row) => row.id)
  return endActive(db, ids, "REVOKED", "principal_ended", nowMs)
}

async function endPats(db: Database, id: PrincipalId, nowMs: number): Promise<readonly string[]> {
  const ended = await db
    .updateTable("pat")
    .set({ revoked_at: at(nowMs), revoke_reason: "PRINCIPAL_ENDED" })
    .where("principal_id", "=", id)
    .where("revoked_at", "is", null)
    .returning("id")
    .execute()
  return ended.map((row) => row.id)
}

/** Secrets and keys of the service that the principal is, if it is one. */
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
