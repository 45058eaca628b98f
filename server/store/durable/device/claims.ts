// The claims that one device made, inside its object. A claim is begun here with its target devices, takes a package of
// each, and is finished here. A retry after a crash gets the same packages.
import type { ClaimId, ConversationId, DeviceId } from "@signet/kernel/ids"
import { decideClaim, type Inventory } from "@signet/kernel/messaging/key-package"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { ClaimRecord, KeyPackageRecord } from "@signet/kernel/messaging/records"
import { fromText, toText } from "../plain.ts"
import { marks, type Sql } from "../sql.ts"
import { inventoryIn, type PackageRow, packageColumns, packageOf, packageValues } from "./key-packages.ts"

export const claimSteps = [
  `create table claim (
    id text primary key, conversation_id text not null, request_hash blob not null, device_ids text not null,
    is_finished integer not null, without_device_ids text not null, claimed_at integer not null
  );
  create index claim_at on claim (claimed_at);
  create table claim_package (
    claim_id text not null, ref blob not null, init_key blob not null, device_id text not null, user_id text not null,
    credential_hash blob not null, package blob not null, is_last_resort integer not null, not_before integer not null,
    not_after integer not null, status text not null,
    primary key (claim_id, device_id)
  )`,
] as const

export interface ClaimAsked {
  readonly id: ClaimId
  readonly requesterDeviceId: DeviceId
  readonly conversationId: ConversationId
  readonly requestHash: Uint8Array
  /** The current target devices, sorted; for an earlier begun claim, its first targets. */
  readonly deviceIds: readonly DeviceId[]
}

export type Begun =
  | { readonly is: "take"; readonly deviceIds: readonly DeviceId[] }
  | { readonly is: "claimed"; readonly claim: ClaimRecord; readonly inventory: Inventory }
  | { readonly is: "mismatch" }
  | { readonly is: "tooMany" }

/** `inventory` is the requester's own, as in `Begun`. */
export interface Finished {
  readonly isFirst: boolean
  readonly claim: ClaimRecord
  readonly inventory: Inventory
}

interface ClaimRow {
  id: ClaimId
  conversation_id: ConversationId
  request_hash: Uint8Array
  device_ids: string
  is_finished: number
  without_device_ids: string
  claimed_at: number
}

const findText = "select * from claim where id = ?"
const packagesText = `select ${packageColumns.join(", ")} from claim_package where claim_id = ? order by device_id`
const putPackageText = `insert into claim_package (claim_id, ${packageColumns.join(", ")})
values (?, ${marks(packageColumns)})`

/** Requires a transaction, as every function here that writes. */
export function beginClaim(sql: Sql, asked: ClaimAsked, nowMs: number): Begun {
  const { id, requesterDeviceId, conversationId, requestHash, deviceIds } = asked
  const row = sql.row<ClaimRow>(findText, id)
  const known = row && { requestHash: row.request_hash, requesterDeviceId }
  switch (decideClaim(known, asked)) {
    case "IDEMPOTENCY_MISMATCH":
      return { is: "mismatch" }
    case "again":
      if (row === undefined) throw new Error("again of nothing")
      return row.is_finished === 1
        ? { is: "claimed", claim: recordOf(sql, row, requesterDeviceId), inventory: inventoryIn(sql, nowMs) }
        : { is: "take", deviceIds: fromText(row.device_ids) }
    case "claim":
      if (deviceIds.length > maxCount.subjectsPerCommit) return { is: "tooMany" }
      sql.run(
        `insert into claim (id, conversation_id, request_hash, device_ids, is_finished, without_device_ids, claimed_at)
        values (?, ?, ?, ?, 0, '[]', ?)`,
        id,
        conversationId,
        requestHash,
        toText(deviceIds),
        nowMs,
      )
      return { is: "take", deviceIds }
  }
}

/**
 * Writes the taken packages. The first of two concurrent calls wins.
 *
 * @returns Whether this call was the first, and the final claim; undefined if the claim was not begun here.
 */
export function finishClaim(
  sql: Sql,
  { id, requesterDeviceId }: Pick<ClaimAsked, "id" | "requesterDeviceId">,
  packages: readonly KeyPackageRecord[],
  nowMs: number,
): Finished | undefined {
  const row = sql.row<ClaimRow>(findText, id)
  if (row === undefined) return undefined
  const isFirst = row.is_finished === 0
  if (isFirst) {
    const given = new Set(packages.map(({ deviceId }) => deviceId))
    const without = fromText<readonly DeviceId[]>(row.device_ids).filter((deviceId) => !given.has(deviceId))
    for (const one of packages) sql.run(putPackageText, id, ...packageValues(one))
    sql.run("update claim set is_finished = 1, without_device_ids = ? where id = ?", toText(without), id)
  }
  const finished = sql.row<ClaimRow>(findText, id) ?? row
  return { isFirst, claim: recordOf(sql, finished, requesterDeviceId), inventory: inventoryIn(sql, nowMs) }
}

const recordOf = (sql: Sql, row: ClaimRow, requesterDeviceId: DeviceId): ClaimRecord => ({
  id: row.id,
  requesterDeviceId,
  conversationId: row.conversation_id,
  requestHash: row.request_hash,
  packages: sql.rows<PackageRow>(packagesText, row.id).map(packageOf),
  withoutDeviceIds: fromText(row.without_device_ids),
  claimedAtMs: row.claimed_at,
})

export function forgetClaims(sql: Sql, untilMs: number): void {
  sql.run("delete from claim_package where claim_id in (select id from claim where claimed_at <= ?)", untilMs)
  sql.run("delete from claim where claimed_at <= ?", untilMs)
}

export const oldestClaim = (sql: Sql): number | null =>
  sql.row<{ at: number | null }>("select min(claimed_at) as at from claim")?.at ?? null
