import type { SessionEndings } from "@signet/kernel/administration/ports"
import type { SessionId } from "@signet/kernel/ids"
import type { LiftableRevocation } from "@signet/kernel/machine/ports"
import { longestTokenMs } from "@signet/kernel/token/claims"
import { longestContextMs } from "@signet/kernel/token/context-claims"
import { type RawBuilder, sql } from "kysely"
import { only } from "../page.ts"
import { at, type Database, run } from "../sql.ts"
import { revocations } from "../token/revocations.ts"

// Locked in the order in which appends schedule pushes.
const deleteEndpointsText = `delete from push_endpoint where device_id in (
  select device_id from push_endpoint where session_id = any($1::text[]) order by device_id for update)`

const countOfClientText = `select count(*)::int as count from (
  select from session where provider_client_id = $1 and status = 'ACTIVE'
    and idle_expires_at > $2 and absolute_expires_at > $2 limit $3) as active`

export function sessionEndings(db: Database): SessionEndings {
  return {
    endByAccount: (id, reason, nowMs) => endWhere(db, [only("provider_account_id", id)], reason, nowMs),

    endByClient: (id, reason, nowMs) => endWhere(db, [only("provider_client_id", id)], reason, nowMs),

    async countByClient(id, nowMs, most) {
      const [row] = await run<{ count: number }>(db, countOfClientText, [id, at(nowMs), most])
      return row?.count ?? 0
    },

    async endByMembership({ principalId, ...place }, reason, nowMs) {
      // A sign-in reads memberships under this lock: its session is among these, or it sees the changed membership.
      await db.selectFrom("principal").select("id").where("id", "=", principalId).forUpdate().execute()
      return endWhere(db, [only("principal_id", principalId), ...signedInAt(place)], reason, nowMs)
    },

    endByDevices({ principalId, appId, tenantId, deviceIds, except }, reason, nowMs) {
      const bound = sql<boolean>`bound_device_id = any(${deviceIds})`
      const others = sql<boolean>`id is distinct from ${except}`
      const at = [only("app_id", appId), sql<boolean>`tenant_id is not distinct from ${tenantId}`]
      return endWhere(db, [only("principal_id", principalId), ...at, bound, others], reason, nowMs)
    },

    async endByPlace(place, reason, nowMs) {
      // Ends the place's sessions. A service's own context tokens there have no session, and live a day at most.
      await revocations(db).add([{ ...revocationOf(place), expiresAtMs: nowMs + longestContextMs }])
      return endWhere(db, signedInAt(place), reason, nowMs)
    },

    reopenPlace: (place, nowMs) => revocations(db).lift(revocationOf(place), nowMs),
  }
}

/** The sessions of an app, or only those at the tenant or context if one is given. */
export const signedInAt = ({ appId, tenantId, contextId }: Place) => [
  only("app_id", appId),
  only("tenant_id", tenantId),
  only("context_id", contextId),
]

type Place = Parameters<SessionEndings["endByPlace"]>[0]

/** The revocation of the innermost app, tenant or context of the place. */
function revocationOf({ appId, tenantId, contextId }: Place): LiftableRevocation {
  if (contextId !== null) return { kind: "CONTEXT", key: contextId }
  return tenantId !== null ? { kind: "TENANT", key: tenantId } : { kind: "APP", key: appId }
}

/**
 * Ends the ACTIVE sessions that meet all conditions. They are locked in one order, so that concurrent calls do not
 * deadlock.
 */
export async function endWhere(
  db: Database,
  conditions: readonly RawBuilder<boolean>[],
  reason: string,
  nowMs: number,
): Promise<readonly SessionId[]> {
  let query = db.selectFrom("session").select("id").where("status", "=", "ACTIVE").orderBy("id").forUpdate()
  for (const condition of conditions) query = query.where(condition)
  const ids = (await query.execute()).map((row) => row.id)
  return endActive(db, ids, "REVOKED", reason, nowMs)
}

/**
 * Two statements for sessions and tokens: only the second sees the successor of a refresh that the first waited for.
 */
export async function endActive(
  db: Database,
  ids: readonly SessionId[],
  status: "REVOKED" | "COMPROMISED",
  reason: string,
  nowMs: number,
): Promise<readonly SessionId[]> {
  if (ids.length === 0) return []
  const ended = await db
    .updateTable("session")
    .set({ status, revoked_at: at(nowMs), revoke_reason: reason })
    .where("id", "=", sql<SessionId>`any(${ids})`)
    .where("status", "=", "ACTIVE")
    .returning("id")
    .execute()
  const endedIds = ended.map((row) => row.id)
  if (endedIds.length > 0) {
    await db
      .updateTable("refresh_token")
      .set({ revoked_at: at(nowMs), successor_sealed: null, retry_key_hash: null })
      .where("session_id", "=", sql<SessionId>`any(${endedIds})`)
      .where("revoked_at", "is", null)
      .execute()
    // Otherwise the device would be woken up for a session that can read nothing.
    await run(db, deleteEndpointsText, [endedIds])
    // For services that verify access tokens without introspection.
    const expiresAtMs = nowMs + longestTokenMs
    await revocations(db).add(endedIds.map((key) => ({ kind: "SESSION", key, expiresAtMs })))
  }
  return endedIds
}
