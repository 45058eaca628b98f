import type { DeviceId, PrincipalId } from "@signet/kernel/ids"
import type { MessagingDevice, Place, SignedDeviceList } from "@signet/kernel/messaging/records"
import { fromText, toText } from "../plain.ts"
import type { Sql } from "../sql.ts"

export const userSteps = [
  `create table self (id integer primary key check (id = 1), user_id text not null, place text not null,
    has_devices integer not null);
  create table device (id text primary key, status text not null, created_at integer not null, record text not null);
  create table leaf_key (leaf_key blob primary key, device_id text not null);
  -- Pairs that may not be written any more: another device has the key, or is about to.
  create table lost_key (leaf_key blob not null, device_id text not null, primary key (leaf_key, device_id));
  create table list (version integer primary key, signed blob not null, hash blob not null);
  create table effect (device_id text primary key, revoked_at integer not null, due_at integer not null)`,
] as const

const listText = "select version, signed, hash from list"

/** All devices, newest first. */
export const allDevices = (sql: Sql): MessagingDevice[] =>
  sql.rows<{ record: string }>("select record from device order by created_at desc, id desc").map(deviceOf)

export const activeDevices = (sql: Sql): MessagingDevice[] =>
  sql.rows<{ record: string }>("select record from device where status = 'ACTIVE' order by id").map(deviceOf)

export function findDevice(sql: Sql, id: DeviceId): MessagingDevice | undefined {
  const row = sql.row<{ record: string }>("select record from device where id = ?", id)
  return row && deviceOf(row)
}

const deviceOf = ({ record }: { record: string }): MessagingDevice => fromText(record)

/** Writes a device, and its leaf key permanently. */
export function putDevice(sql: Sql, device: MessagingDevice): void {
  const { id, status, createdAtMs, leafKey } = device
  sql.run("insert into leaf_key (leaf_key, device_id) values (?, ?) on conflict do nothing", leafKey, id)
  sql.run(
    "insert or replace into device (id, status, created_at, record) values (?, ?, ?, ?)",
    id,
    status,
    createdAtMs,
    toText(device),
  )
}

export const hasKey = (sql: Sql, deviceId: DeviceId, leafKey: Uint8Array): boolean =>
  sql.row("select 1 from leaf_key where leaf_key = ? and device_id = ?", leafKey, deviceId) !== undefined

export const hasLostKey = (sql: Sql, deviceId: DeviceId, leafKey: Uint8Array): boolean =>
  sql.row("select 1 from lost_key where leaf_key = ? and device_id = ?", leafKey, deviceId) !== undefined

export const loseKey = (sql: Sql, deviceId: DeviceId, leafKey: Uint8Array): void =>
  sql.run("insert into lost_key (leaf_key, device_id) values (?, ?) on conflict do nothing", leafKey, deviceId)

interface ListRow {
  version: number
  signed: Uint8Array
  hash: Uint8Array
}

const listOf = ({ version, signed, hash }: ListRow): SignedDeviceList => ({
  version: BigInt(version),
  bytes: signed,
  hash,
})

export function newestList(sql: Sql): SignedDeviceList | undefined {
  const row = sql.row<ListRow>(`${listText} order by version desc limit 1`)
  return row && listOf(row)
}

export const listsAfter = (sql: Sql, version: bigint, limit: number): SignedDeviceList[] =>
  sql.rows<ListRow>(`${listText} where version > ? order by version limit ?`, version, limit).map(listOf)

export const putList = (sql: Sql, { version, bytes, hash }: SignedDeviceList): void =>
  sql.run("insert into list (version, signed, hash) values (?, ?, ?)", version, bytes, hash)

export interface Self {
  readonly userId: PrincipalId
  readonly place: Place
  /** True if it has active devices or archives. */
  readonly hasDevices: boolean
}

export function findSelf(sql: Sql): Self | undefined {
  type Row = { user_id: PrincipalId; place: string; has_devices: number }
  const row = sql.row<Row>("select user_id, place, has_devices from self")
  return row && { userId: row.user_id, place: fromText(row.place), hasDevices: row.has_devices === 1 }
}

export const putSelf = (sql: Sql, { userId, place, hasDevices }: Self): void =>
  sql.run(
    "insert or replace into self (id, user_id, place, has_devices) values (1, ?, ?, ?)",
    userId,
    toText(place),
    hasDevices,
  )

export const putEffect = (sql: Sql, deviceId: DeviceId, revokedAtMs: number, dueAtMs: number): void =>
  sql.run(
    "insert into effect (device_id, revoked_at, due_at) values (?, ?, ?) on conflict do nothing",
    deviceId,
    revokedAtMs,
    dueAtMs,
  )

export const dueEffects = (sql: Sql, nowMs: number): DeviceId[] =>
  sql
    .rows<{ device_id: DeviceId }>(
      "select device_id from effect where due_at <= ? order by revoked_at, device_id",
      nowMs,
    )
    .map((row) => row.device_id)

export const nextEffectAt = (sql: Sql): number | null =>
  sql.row<{ due_at: number | null }>("select min(due_at) as due_at from effect")?.due_at ?? null
