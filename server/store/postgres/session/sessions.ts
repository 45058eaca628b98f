import type { Sessions } from "@signet/kernel/ports"
import type { Session } from "@signet/kernel/records"
import { type Selectable, sql } from "kysely"
import { only } from "../page.ts"
import type { SessionTable } from "../schema.ts"
import { at, atOrNull, type Database, insertInto, msOrNull, run } from "../sql.ts"
import { endActive, endWhere } from "./session-endings.ts"

const columns = [
  "id",
  "principal_id",
  "identity_id",
  "app_id",
  "tenant_id",
  "context_id",
  "provider_account_id",
  "provider_client_id",
  "platform",
  "amr",
  "audiences",
  "auth_time_at",
  "status",
  "created_at",
  "last_refreshed_at",
  "idle_expires_at",
  "absolute_expires_at",
  "rotation",
  "device_id",
  "device_label",
  "device_os",
  "device_app_version",
  "bound_device_id",
  "user_agent",
  "cookie_mode",
  "revoked_at",
  "revoke_reason",
] as const satisfies readonly (keyof SessionTable)[]

const insertText = insertInto("session", columns)
const lockText = `select ${columns.join(", ")} from session where id = $1 for update`
const lockByRefreshTokenText = `select ${columns.join(", ")} from session
where id = (select session_id from refresh_token where token_hash = any($1::bytea[]) limit 1) for update`

const bindDeviceText = `update session set bound_device_id = $2
where id = $1 and principal_id = $3 and app_id = $4 and tenant_id is not distinct from $5
  and bound_device_id is distinct from $2`

export function sessions(db: Database): Sessions {
  return {
    async insert(session) {
      const row = toRow(session)
      await run(
        db,
        insertText,
        columns.map((column) => row[column]),
      )
    },

    async find(id) {
      const row = await db.selectFrom("session").select(columns).where("id", "=", id).executeTakeFirst()
      return row && sessionFromRow(row)
    },

    async lock(id) {
      const [row] = await run<Selectable<SessionTable>>(db, lockText, [id])
      return row && sessionFromRow(row)
    },

    async lockByRefreshToken(tokenHashes) {
      const [row] = await run<Selectable<SessionTable>>(db, lockByRefreshTokenText, [tokenHashes])
      return row && sessionFromRow(row)
    },

    async listActive(principalId, appId, nowMs, { size, before }) {
      let query = db
        .selectFrom("session")
        .select(columns)
        .where("principal_id", "=", principalId)
        .where("app_id", "=", appId)
        .where("status", "=", "ACTIVE")
        .where("idle_expires_at", ">", at(nowMs))
        .where("absolute_expires_at", ">", at(nowMs))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(size)
      if (before !== null)
        query = query.where(sql<boolean>`(created_at, id) < (${at(before.createdAtMs)}, ${before.id})`)
      return (await query.execute()).map(sessionFromRow)
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

export const sessionFromRow = (row: Selectable<SessionTable>): Session => ({
  id: row.id,
  principalId: row.principal_id,
  identityId: row.identity_id,
  appId: row.app_id,
  tenantId: row.tenant_id,
  contextId: row.context_id,
  providerAccountId: row.provider_account_id,
  providerClientId: row.provider_client_id,
  platform: row.platform,
  amr: row.amr,
  audiences: row.audiences,
  authTimeMs: msOrNull(row.auth_time_at),
  status: row.status,
  createdAtMs: row.created_at.getTime(),
  lastRefreshedAtMs: msOrNull(row.last_refreshed_at),
  idleExpiresAtMs: row.idle_expires_at.getTime(),
  absoluteExpiresAtMs: row.absolute_expires_at.getTime(),
  rotation: row.rotation,
  device: {
    deviceId: row.device_id,
    label: row.device_label,
    os: row.device_os,
    appVersion: row.device_app_version,
  },
  boundDeviceId: row.bound_device_id,
  userAgent: row.user_agent,
  cookieMode: row.cookie_mode,
  revokedAtMs: msOrNull(row.revoked_at),
  revokeReason: row.revoke_reason,
})

const toRow = (session: Session): SessionTable => ({
  id: session.id,
  principal_id: session.principalId,
  identity_id: session.identityId,
  app_id: session.appId,
  tenant_id: session.tenantId,
  context_id: session.contextId,
  provider_account_id: session.providerAccountId,
  provider_client_id: session.providerClientId,
  platform: session.platform,
  amr: session.amr,
  audiences: session.audiences,
  auth_time_at: atOrNull(session.authTimeMs),
  status: session.status,
  created_at: at(session.createdAtMs),
  last_refreshed_at: atOrNull(session.lastRefreshedAtMs),
  idle_expires_at: at(session.idleExpiresAtMs),
  absolute_expires_at: at(session.absoluteExpiresAtMs),
  rotation: session.rotation,
  device_id: session.device.deviceId,
  device_label: session.device.label,
  device_os: session.device.os,
  device_app_version: session.device.appVersion,
  bound_device_id: session.boundDeviceId,
  user_agent: session.userAgent,
  cookie_mode: session.cookieMode,
  revoked_at: atOrNull(session.revokedAtMs),
  revoke_reason: session.revokeReason,
})
