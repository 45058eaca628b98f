// Export and import of a user's records, inside its object: devices, device lists, the list of blocked users and the backup.
import type { DeviceId, PrincipalId } from "@signet/kernel/ids"
import { completeBackup } from "@signet/kernel/messaging/archive"
import type { StoredRecord } from "@signet/kernel/messaging/moving"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import { fromText } from "../plain.ts"
import type { Sql } from "../sql.ts"
import { findArchives, putArchives } from "../user/archives.ts"
import { findBlocks, putBlocks } from "../user/blocks.ts"
import { putDevice, putEffect, putList } from "../user/rows.ts"
import type { Part } from "./pages.ts"

const keysText = "select leaf_key from leaf_key where device_id = ? order by leaf_key"

export const userParts = (sql: Sql, userId: PrincipalId): readonly Part[] => [
  {
    rows: (after, limit) =>
      sql
        .rows<{ id: DeviceId; record: string }>(
          "select id, record from device where id > ? order by id limit ?",
          ...(after ?? [""]),
          limit,
        )
        .map(({ id, record }) => ({
          key: [id],
          record: {
            is: "device",
            device: fromText<MessagingDevice>(record),
            leafKeys: sql.rows<{ leaf_key: Uint8Array }>(keysText, id).map((row) => row.leaf_key),
            isRevocationDue: sql.row("select 1 from effect where device_id = ?", id) !== undefined,
          },
        })),
  },
  {
    rows: (after, limit) =>
      sql
        .rows<{ version: number; signed: Uint8Array; hash: Uint8Array }>(
          "select * from list where version > ? order by version limit ?",
          ...(after ?? [0]),
          Math.min(limit, 50),
        )
        .map(({ version, signed, hash }) => ({
          key: [version],
          record: { is: "deviceList", userId, list: { version: BigInt(version), bytes: signed, hash } },
        })),
  },
  {
    rows: (after) => {
      const list = after === null ? findBlocks(sql) : undefined
      return list === undefined ? [] : [{ key: [1], record: { is: "blockList", userId, list } }]
    },
  },
  {
    rows: (after) => {
      const archive = after === null ? completeBackup(findArchives(sql)) : undefined
      return archive === undefined ? [] : [{ key: [1], record: { is: "backup", userId, archive } }]
    },
  },
]

export type UserRecord = Extract<StoredRecord, { readonly is: "device" | "deviceList" | "blockList" | "backup" }>

/** Requires a transaction. Existing rows stay unchanged. */
export function importUser(sql: Sql, record: UserRecord, nowMs: number): void {
  if (record.is === "deviceList") {
    const isThere = sql.row("select 1 from list where version = ?", record.list.version) !== undefined
    if (!isThere) putList(sql, record.list)
    return
  }
  if (record.is === "blockList") {
    if (findBlocks(sql) === undefined) putBlocks(sql, record.list)
    return
  }
  if (record.is === "backup") {
    if (findArchives(sql).length === 0) putArchives(sql, [record.archive])
    return
  }
  const { device, leafKeys, isRevocationDue } = record
  putDevice(sql, device)
  for (const leafKey of leafKeys) {
    sql.run("insert into leaf_key (leaf_key, device_id) values (?, ?) on conflict do nothing", leafKey, device.id)
  }
  if (isRevocationDue) putEffect(sql, device.id, device.revokedAtMs ?? device.changedAtMs, nowMs)
}

export const deviceIdsOf = (sql: Sql): readonly DeviceId[] =>
  sql.rows<{ id: DeviceId }>("select id from device order by id").map(({ id }) => id)
