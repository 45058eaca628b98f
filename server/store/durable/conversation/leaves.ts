// The current and former leaves of a conversation.
import type { DeviceId } from "@signet/kernel/ids"
import { equalBytes } from "@signet/kernel/messaging/bytes"
import type { Conversations } from "@signet/kernel/messaging/ports"
import type { Leaf } from "@signet/kernel/messaging/records"
import type { Sql } from "../sql.ts"

export interface Moved {
  readonly added: readonly Leaf[]
  /** Removed leaves, also those of devices that the same commit adds again. */
  readonly gone: readonly Leaf[]
}

const endText = "update leaf set to_seq = ? where device_id = ? and to_seq is null"
const renewText = "update leaf set credential_hash = ? where device_id = ? and to_seq is null"
const addText = `insert into leaf (device_id, from_seq, leaf_index, user_id, credential_hash, joined_epoch)
values (?, ?, ?, ?, ?, ?)`
const spanText = `select from_seq, to_seq from leaf where device_id = ?
order by to_seq is null or to_seq > ? desc, case when to_seq is null or to_seq > ? then from_seq else -from_seq end
limit 1`

/** Applies the change of leaves by the commit at `seq`. Requires a transaction. */
export function writeLeaves(sql: Sql, before: readonly Leaf[], after: readonly Leaf[], seq: bigint): Moved {
  const was = new Map(before.map((leaf) => [leaf.deviceId, leaf]))
  const isSame = (a: Leaf | undefined, b: Leaf) => a?.leafIndex === b.leafIndex && a.joinedEpoch === b.joinedEpoch
  const added = after.filter((leaf) => !isSame(was.get(leaf.deviceId), leaf))
  const staying = after.filter((leaf) => isSame(was.get(leaf.deviceId), leaf))
  const stays = new Set(staying.map(({ deviceId }) => deviceId))
  const gone = before.filter(({ deviceId }) => !stays.has(deviceId))
  for (const { deviceId } of gone) sql.run(endText, seq, deviceId)
  for (const { deviceId, credentialHash } of staying) {
    const old = was.get(deviceId)
    if (old !== undefined && !equalBytes(old.credentialHash, credentialHash))
      sql.run(renewText, credentialHash, deviceId)
  }
  for (const { deviceId, leafIndex, userId, credentialHash, joinedEpoch } of added) {
    sql.run(addText, deviceId, seq, leafIndex, userId, credentialHash, joinedEpoch)
  }
  return { added, gone }
}

export function spanOf(
  sql: Sql,
  deviceId: DeviceId,
  afterSeq: bigint,
): Awaited<ReturnType<Conversations["membershipSpan"]>> {
  const row = sql.row<{ from_seq: number; to_seq: number | null }>(spanText, deviceId, afterSeq, afterSeq)
  return row && { fromSeq: BigInt(row.from_seq), toSeq: row.to_seq === null ? null : BigInt(row.to_seq) }
}
