// Claims one key package per device. No package is claimed twice, except a last resort.
import type { ClaimId, ConversationId, DeviceId, PrincipalId } from "@signet/kernel/ids"
import { withoutPackagesOf } from "@signet/kernel/messaging/block"
import { decideClaim } from "@signet/kernel/messaging/key-package"
import { keyPackagePool, maxCount } from "@signet/kernel/messaging/limits"
import { placeHeld } from "@signet/kernel/messaging/moving"
import type { KeyPackages } from "@signet/kernel/messaging/ports"
import type { ClaimRecord } from "@signet/kernel/messaging/records"
import { at, bytes, type Database, run } from "../sql.ts"
import { type Access, appendAudit, placeOf } from "./access.ts"
import {
  type CountRow,
  claimableAt,
  countText,
  inventoryOfRow,
  type KeyPackageRow,
  keyPackageColumns,
  keyPackageOf,
} from "./key-package-rows.ts"
import { isGateOpen, lockPlaceGate } from "./moving/gates.ts"

const claimable = "status = 'AVAILABLE' and not_before <= $6 and not_after > $7"
const columnsOf = (table: string) => keyPackageColumns.map((column) => `${table}.${column}`).join(", ")
// One statement records the claim, and only if that is new takes a package for each device, as `chooseKeyPackage` in
// kernel/messaging/key-package.ts says. It skips rows that another claim has locked, so claims do not wait for each other.
const takeText = `
with gate as materialized (
  select 1 from messaging_gate gate where ${isGateOpen("$3::text", "$4::text", "$5::text")} for share of gate
), target as materialized (
  select id as device_id, user_id <> all($9::text[]) and exists (
    select from block_list where app_id = $3 and tenant_id = $4 and user_id = messaging_device.user_id
      and $8::text = any(blocked_user_ids)
  ) as is_blocked
  from messaging_device
  where (user_id = any($1::text[]) or id = any($2::text[]))
    and app_id = $3 and tenant_id = $4 and status = 'ACTIVE' and id <> $5
), claimed as (
  insert into claim (id, requester_device_id, conversation_id, request_hash, without_device_ids, claimed_at)
  select $10, $5, $11, $12, '{}', $13 from gate where (select count(*) from target) <= ${maxCount.subjectsPerCommit}
  on conflict do nothing returning id
), picked as (
  select chosen.ref from target cross join lateral (
    select ref from key_package
    where device_id = target.device_id and not is_blocked and not is_last_resort and ${claimable}
    order by not_after, ref limit 1 for update skip locked
  ) chosen where exists (select from claimed)
), taken as (
  update key_package set status = 'CLAIMED' from picked where key_package.ref = picked.ref
  returning ${columnsOf("key_package")}
), found as (
  select target.device_id as target_id, (
      select count(*) from (
        select from key_package
        where device_id = target.device_id and not is_last_resort and ${claimable} limit ${keyPackagePool.lowWater + 1}
      ) few
    ) - (taken.ref is not null)::integer < ${keyPackagePool.lowWater} as is_low,
    ${keyPackageColumns.map((column) => `coalesce(taken.${column}, last.${column}) as ${column}`).join(", ")}
  from target left join taken on taken.device_id = target.device_id
  left join lateral (
    select * from key_package
    where device_id = target.device_id and not is_blocked and is_last_resort and ${claimable} limit 1
  ) last on taken.ref is null
  where exists (select from claimed)
), recorded as (
  insert into claim_package (requester_device_id, claim_id, ref) select $5, $10, ref from found where ref is not null
)
select found.*, claim.* from (
  select exists (select from gate) as is_open, exists (select from claimed) as is_new, own.*
  from (${countText("$5", "$6", "$7")}) own
) claim left join found on true order by target_id`
// The users of claimed packages who block the requester.
const blockersText = `select user_id from block_list
where app_id = $1 and tenant_id = $2 and $3::text = any(blocked_user_ids) and user_id <> all($4::text[])
  and user_id = any($5::text[])`
const withoutText = "update claim set without_device_ids = $3 where requester_device_id = $1 and id = $2"
const findText = "select * from claim where requester_device_id = $1 and id = $2"
const packagesText = `select ${columnsOf("key_package")}
from claim_package join key_package on key_package.ref = claim_package.ref
where requester_device_id = $1 and claim_id = $2 order by device_id`

/** A device of the targets, with its package if there is one. Without devices, the only row has null columns. */
type FoundRow = { target_id: DeviceId | null; is_low: boolean } & (KeyPackageRow | { ref: null })
type TakenRow = FoundRow & CountRow & { is_open: boolean; is_new: boolean }

export const claimPackages =
  ({ transact }: Access): KeyPackages["claim"] =>
  (of, nowMs, audit) =>
    transact<Awaited<ReturnType<KeyPackages["claim"]>>>(async (trx, log) => {
      const { id, requester, conversationId, targets, addable, place, requestHash } = of
      const take = () =>
        run<TakenRow>(trx, takeText, [
          targets.userIds,
          targets.deviceIds,
          ...placeOf(place),
          requester.deviceId,
          ...claimableAt(nowMs),
          requester.userId,
          addable,
          id,
          conversationId,
          requestHash,
          at(nowMs),
        ])
      let rows = await take()
      if (rows[0]?.is_open !== true) {
        // The first claim of a place makes its gates.
        await lockPlaceGate(trx, place, requester.deviceId)
        rows = await take()
      }
      const [first] = rows
      if (first?.is_open !== true) throw placeHeld()
      const inventory = inventoryOfRow(first)
      if (!first.is_new) {
        const before = await claimedBefore(trx, of)
        if (before === undefined) return { is: "tooMany" }
        return before === "mismatch" ? { is: before } : { is: "claimed", claim: before, low: [], inventory }
      }
      const found = rows.flatMap((row) => (row.target_id === null ? [] : [{ ...row, target_id: row.target_id }]))
      const withoutDeviceIds = found.flatMap((row) => (row.ref === null ? [row.target_id] : []))
      if (withoutDeviceIds.length > 0) await run(trx, withoutText, [requester.deviceId, id, withoutDeviceIds])
      await appendAudit(log, [audit])
      const claim: ClaimRecord = {
        id,
        requesterDeviceId: requester.deviceId,
        conversationId,
        requestHash,
        packages: found.flatMap((row) => (row.ref === null ? [] : [keyPackageOf(row)])),
        withoutDeviceIds,
        claimedAtMs: nowMs,
      }
      return { is: "claimed", claim, low: found.flatMap((row) => (row.is_low ? [row.target_id] : [])), inventory }
    })

/** The claim that has this id, without the packages of users who block the requester by now; undefined if there is none. */
async function claimedBefore(
  trx: Database,
  { id, requester, requestHash, place, addable }: Parameters<KeyPackages["claim"]>[0],
): Promise<ClaimRecord | "mismatch" | undefined> {
  const claim = await findClaim(trx, [requester.deviceId, id])
  if (claim === undefined) return undefined
  const decision = decideClaim(claim, { requestHash, requesterDeviceId: requester.deviceId })
  if (decision !== "again") return "mismatch"
  const blockers = await run<{ user_id: PrincipalId }>(trx, blockersText, [
    ...placeOf(place),
    requester.userId,
    addable,
    claim.packages.map(({ userId }) => userId),
  ])
  return withoutPackagesOf(
    claim,
    blockers.map((row) => row.user_id),
  )
}

interface ClaimRow {
  id: ClaimId
  requester_device_id: DeviceId
  conversation_id: ConversationId
  request_hash: Uint8Array
  without_device_ids: DeviceId[]
  claimed_at: Date
}

/** Claims belong to their requester: another device may use the same id. */
async function findClaim(trx: Database, own: readonly [DeviceId, ClaimId]): Promise<ClaimRecord | undefined> {
  const [row] = await run<ClaimRow>(trx, findText, own)
  if (row === undefined) return undefined
  return {
    id: row.id,
    requesterDeviceId: row.requester_device_id,
    conversationId: row.conversation_id,
    requestHash: bytes(row.request_hash),
    packages: (await run<KeyPackageRow>(trx, packagesText, own)).map(keyPackageOf),
    withoutDeviceIds: row.without_device_ids,
    claimedAtMs: row.claimed_at.getTime(),
  }
}
