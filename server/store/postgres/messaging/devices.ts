import type { AuditEvent } from "@signet/kernel/audit/event"
import type { DeviceId, PrincipalId, SessionId } from "@signet/kernel/ids"
import { isReadable, type PlaceState, placeHeld } from "@signet/kernel/messaging/moving"
import type { DeviceChange, Devices } from "@signet/kernel/messaging/ports"
import type { MessagingDevice, Place } from "@signet/kernel/messaging/records"
import { sql } from "kysely"
import { endWhere } from "../session/session-endings.ts"
import { findTogether } from "../several.ts"
import { at, type Database, run } from "../sql.ts"
import { type Access, appendAudit, placeOf } from "./access.ts"
import { type DeviceRow, deviceColumns, deviceOf, deviceValues, type ListRow, listOf } from "./device-rows.ts"
import { isClosedOfDevice, lockGate, lockPlaceGate } from "./moving/gates.ts"

const columns = deviceColumns.map((column) => `device.${column}`).join(", ")
const findText = `select ${columns}, (
  select state from messaging_place place where place.app_id = device.app_id and place.tenant_id = device.tenant_id
) as place_state from messaging_device device where id = $1`
const stateText = "select state from messaging_place where app_id = $1 and tenant_id = $2"
const findByKeyText = `select ${columns} from messaging_device_key key
join messaging_device device on device.id = key.device_id where key.leaf_key = $1`
// The newest list is joined to the first row only. One statement, so both are from one snapshot.
const ofUserText = `select ${columns}, newest.version, newest.signed, newest.hash
from (
  select *, row_number() over (order by created_at desc, id desc) as place from messaging_device
  where user_id = $1 and app_id = $2 and tenant_id = $3
) device
left join lateral (
  select version, signed, hash from device_list
  where user_id = $1 and app_id = $2 and tenant_id = $3 order by version desc limit 1
) newest on device.place = 1
order by device.place`
const activeOfText = `select ${columns} from messaging_device device
where user_id = any($1::text[]) and app_id = $2 and tenant_id = $3 and status = 'ACTIVE' order by user_id, id`
const listsText = `select version, signed, hash from device_list
where user_id = $1 and app_id = $2 and tenant_id = $3 and version > $4 order by version limit $5`
// A list must follow its predecessor: of two lists with the same predecessor, one is written.
const insertListText = `insert into device_list (user_id, app_id, tenant_id, version, signed, hash)
select $1::text, $2::text, $3::text, $4::bigint, $5::bytea, $6::bytea
where $4::bigint = 1 or exists (
  select 1 from device_list where user_id = $1 and app_id = $2 and tenant_id = $3 and version = $4::bigint - 1)
on conflict do nothing returning version`
const insertKeyText = "insert into messaging_device_key (leaf_key, device_id) values ($1, $2) on conflict do nothing"
const keyHolderText = "select device_id from messaging_device_key where leaf_key = $1"
const putText = `insert into messaging_device (${deviceColumns.join(", ")})
values (${deviceColumns.map((_, i) => `$${i + 1}`).join(", ")})
on conflict (id) do update set ${deviceColumns.map((column) => `${column} = excluded.${column}`).join(", ")}`
const insertEffectText = `insert into revocation_effect (device_id, user_id, revoked_at) values ($1, $2, $3)
on conflict do nothing`
const bindText = `update session set bound_device_id = $2 where id = $1 and bound_device_id is distinct from $2
returning id`
const dueText = `select device_id, user_id from revocation_effect where not ${isClosedOfDevice("device_id")}
order by revoked_at, device_id limit $1`
const doneText = "delete from revocation_effect where device_id = $1"

export function devices({ ask, transact }: Access): Devices {
  /** @throws Refused PLACE_HELD */
  async function refuseUnread(place: Place): Promise<void> {
    const [row] = await ask<{ state: PlaceState }>(stateText, placeOf(place))
    if (!isReadable(row?.state ?? "OPEN")) throw placeHeld()
  }
  const find = findTogether<DeviceRow & { place_state: PlaceState | null }>(ask, findText, ["text"])
  return {
    async find(id, at) {
      const row = await find([id])
      if (!isReadable(row?.place_state ?? "OPEN")) throw placeHeld()
      if (row === undefined && at !== undefined) await refuseUnread(at)
      return row && deviceOf(row)
    },

    async findByKey(leafKey) {
      const [row] = await ask<DeviceRow>(findByKeyText, [leafKey])
      return row && deviceOf(row)
    },

    async ofUser(userId, place) {
      await refuseUnread(place)
      const rows = await ask<DeviceRow & Nullable<ListRow>>(ofUserText, [userId, ...placeOf(place)])
      const { version = null, signed = null, hash = null } = rows[0] ?? {}
      const isListed = version !== null && signed !== null && hash !== null
      return { devices: rows.map(deviceOf), newest: isListed ? listOf({ version, signed, hash }) : undefined }
    },

    async activeOf(userIds, place) {
      return (await ask<DeviceRow>(activeOfText, [userIds, ...placeOf(place)])).map(deviceOf)
    },

    async lists(userId, place, afterVersion, limit) {
      await refuseUnread(place)
      return (await ask<ListRow>(listsText, [userId, ...placeOf(place), afterVersion, limit])).map(listOf)
    },

    change: (change) =>
      transact<"done" | "lost">(async (trx, log, undo) => {
        const { userId, place, list } = change
        await lockPlaceGate(trx, place, userId)
        const next = [userId, ...placeOf(place), list.version, list.bytes, list.hash]
        const written = await run(trx, insertListText, next)
        if (written.length === 0) return "lost"
        for (const device of change.devices) if (!(await putDevice(trx, device))) return undo("lost")
        await endSessions(trx, change)
        if (change.bind !== null) await run(trx, bindText, [change.bind.sessionId, change.bind.deviceId])
        await appendAudit(log, change.audit)
        return "done"
      }),

    bindSession: (sessionId: SessionId, deviceId: DeviceId, audit: AuditEvent) =>
      transact(async (trx, log) => {
        const bound = await run(trx, bindText, [sessionId, deviceId])
        if (bound.length > 0) await appendAudit(log, [audit])
      }),

    async dueEffects(limit) {
      const rows = await ask<{ device_id: DeviceId; user_id: PrincipalId }>(dueText, [limit])
      return rows.map((row) => ({ deviceId: row.device_id, userId: row.user_id }))
    },

    effectsDone: (deviceId) =>
      transact(async (trx) => {
        await lockGate(trx, "device", deviceId)
        await run(trx, doneText, [deviceId])
      }),
  }
}

type Nullable<Row> = { [Column in keyof Row]: Row[Column] | null }

/** Writes the device, and records its revocation for `dueEffects`. @returns False if its leaf key belongs to another device. */
async function putDevice(trx: Database, device: MessagingDevice): Promise<boolean> {
  await run(trx, insertKeyText, [device.leafKey, device.id])
  const [holder] = await run<{ device_id: DeviceId }>(trx, keyHolderText, [device.leafKey])
  if (holder?.device_id !== device.id) return false
  await run(trx, putText, deviceValues(device))
  if (device.status === "REVOKED") {
    await run(trx, insertEffectText, [device.id, device.userId, at(device.revokedAtMs ?? device.changedAtMs)])
  }
  return true
}

async function endSessions(trx: Database, { revoked, bind, nowMs }: DeviceChange): Promise<void> {
  if (revoked.length === 0) return
  const bound = sql<boolean>`bound_device_id = any(${revoked})`
  const others = bind === null ? sql<boolean>`true` : sql<boolean>`id <> ${bind.sessionId}`
  await endWhere(trx, [bound, others], "device_revoked", nowMs)
}
