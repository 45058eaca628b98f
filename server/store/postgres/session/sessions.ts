import type { Sessions } from "@signet/kernel/ports"
import type { Session } from "@signet/kernel/records"
import { type Selectable, sql } from "kysely"
import { only } from "../page.ts"
import { instant, rowMapping } from "../row-mapping.ts"
import type { SessionTable } from "../schema.ts"
import { at, type Database, insertInto, run } from "../sql.ts"
import { endActive, endWhere, signedInAt } from "./session-endings.ts"

export const sessionRows = rowMapping<Session, SessionTable>({
  id: "id",
  principalId: "principal_id",
  identityId: "identity_id",
  appId: "app_id",
  tenantId: "tenant_id",
  contextId: "context_id",
  providerAccountId: "provider_account_id",
  providerClientId: "provider_client_id",
  platform: "platform",
  amr: "amr",
  audiences: "audiences",
  authTimeMs: instant("auth_time_at"),
  status: "status",
  createdAtMs: instant("created_at"),
  lastRefreshedAtMs: instant("last_refreshed_at"),
  idleExpiresAtMs: instant("idle_expires_at"),
  absoluteExpiresAtMs: instant("absolute_expires_at"),
  rotation: "rotation",
  device: {
    deviceId: "device_id",
    label: "device_label",
    os: "device_os",
    appVersion: "device_app_version",
  },
  boundDeviceId: "bound_device_id",
  userAgent: "user_agent",
  cookieMode: "cookie_mode",
  revokedAtMs: instant("revoked_at"),
  revokeReason: "revoke_reason",
})

const insertText = insertInto("session", sessionRows.columns)
const lockText = `select ${sessionRows.columns.join(", ")} from session where id = $1 for update`
const lockByRefreshTokenText = `select ${sessionRows.columns.join(", ")} from session
where id = (select session_id from refresh_token where token_hash = any($1::bytea[]) limit 1) for update`

const bindDeviceText = `update session set bound_device_id = $2
where id = $1 and principal_id = $3 and app_id = $4 and tenant_id is not distinct from $5
  and bound_device_id is distinct from $2`

export function sessions(db: Database): Sessions {
  return {
    async insert(session) {
      await run(db, insertText, sessionRows.values(session))
    },

    async find(id) {
      const row = await db.selectFrom("session").select(sessionRows.columns).where("id", "=", id).executeTakeFirst()
      return row && sessionRows.fromRow(row)
    },

    async lock(id) {
      const [row] = await run<Selectable<SessionTable>>(db, lockText, [id])
      return row && sessionRows.fromRow(row)
    },

    async lockByRefreshToken(tokenHashes) {
      const [row] = await run<Selectable<SessionTable>>(db, lockByRefreshTokenText, [tokenHashes])
      return row && sessionRows.fromRow(row)
    },

    async listActive({ principalId, ...place }, nowMs, { size, before }) {
      let query = db
        .selectFrom("session")
        .select(sessionRows.columns)
        .where("principal_id", "=", principalId)
        .where("status", "=", "ACTIVE")
        .where("idle_expires_at", ">", at(nowMs))
        .where("absolute_expires_at", ">", at(nowMs))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(size)
      for (const condition of signedInAt(place)) query = query.where(condition)
      if (before !== null)
        query = query.where(sql<boolean>`(created_at, id) < (${at(before.createdAtMs)}, ${before.id})`)
      return (await query.execute()).map(sessionRows.fromRow)
    },

    async bindDevice(id, deviceId, { principalId, appId, tenantId }) {
      await run(db, bindDeviceText, [id, deviceId, principalId, appId, tenantId])
    },

    async end(id, status, reason, nowMs) {
      const ended = await endActive(db, [id], status, reason, nowMs)
      return ended.length === 1
    },

    endAll(identityId, except, reason, nowMs) {
      const others = except === null ? sql<boolean>`true` : sql<boolean>`id <> ${except}`
      return endWhere(db, [only("identity_id", identityId), others], reason, nowMs)
    },
  }
}
