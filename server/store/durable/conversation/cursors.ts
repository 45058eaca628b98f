// The cursor of each device, and the time of its last call.
import type { DeviceId, PrincipalId } from "@signet/kernel/ids"
import type { Cursor } from "@signet/kernel/messaging/records"
import type { Sql } from "../sql.ts"

interface CursorRow {
  processed_seq: number
  processed_epoch: number
}

const findText = "select processed_seq, processed_epoch from cursor where device_id = ?"
const raiseText = `insert into cursor (device_id, processed_seq, processed_epoch) values (?, ?, ?)
on conflict (device_id) do update set
  processed_seq = max(processed_seq, excluded.processed_seq),
  processed_epoch = max(processed_epoch, excluded.processed_epoch)
returning processed_seq, processed_epoch`
const seenText = `insert into cursor (device_id, processed_seq, processed_epoch, seen_at) values (?, 0, 0, ?)
on conflict (device_id) do update set seen_at = excluded.seen_at
where seen_at is null or seen_at < excluded.seen_at - 10000`
const onlineText = `select leaf.device_id, leaf.user_id from leaf join cursor on cursor.device_id = leaf.device_id
where leaf.to_seq is null and cursor.seen_at >= ? order by leaf.leaf_index`

export function cursorOf(sql: Sql, deviceId: DeviceId): Cursor {
  const row = sql.row<CursorRow>(findText, deviceId)
  return { processedSeq: BigInt(row?.processed_seq ?? 0), processedEpoch: BigInt(row?.processed_epoch ?? 0) }
}

/** Raises the cursor; never lowers it. */
export function raiseCursor(sql: Sql, deviceId: DeviceId, cursor: Cursor): Cursor {
  const row = sql.row<CursorRow>(raiseText, deviceId, cursor.processedSeq, cursor.processedEpoch)
  if (row === undefined) throw new Error("a cursor was not written")
  return { processedSeq: BigInt(row.processed_seq), processedEpoch: BigInt(row.processed_epoch) }
}

/**
 * Writes at most once in 10 seconds, so that a busy member does not write with each of its calls. @returns True if it
 * wrote.
 */
export function markSeen(sql: Sql, deviceId: DeviceId, nowMs: number): void {
  sql.run(seenText, deviceId, nowMs)
}

export function onlineSince(sql: Sql, sinceMs: number): readonly { deviceId: DeviceId; userId: PrincipalId }[] {
  const rows = sql.rows<{ device_id: DeviceId; user_id: PrincipalId }>(onlineText, sinceMs)
  return rows.map((row) => ({ deviceId: row.device_id, userId: row.user_id }))
}
