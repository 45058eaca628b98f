// Claims one key package per device. No package is claimed twice, except a last resort.
import type { ClaimId, ConversationId, DeviceId, PrincipalId } from "@signet/kernel/ids"
import { withoutPackagesOf } from "@signet/kernel/messaging/block"
import { decideClaim } from "@signet/kernel/messaging/key-package"
import { keyPackagePool } from "@signet/kernel/messaging/limits"
import type { KeyPackages } from "@signet/kernel/messaging/ports"
import type { ClaimRecord } from "@signet/kernel/messaging/records"
import { at, bytes, type Database, run } from "../sql.ts"
import { type Access, appendAudit, buffers, placeOf } from "./access.ts"
import { claimableAt, type KeyPackageRow, keyPackageColumns, keyPackageOf } from "./key-package-rows.ts"
import { lockPlaceGate } from "./moving/gates.ts"

const insertText = `insert into claim
  (id, requester_device_id, conversation_id, request_hash, without_device_ids, claimed_at)
values ($1, $2, $3, $4, '{}', $5) on conflict do nothing returning id`
const claimable = "status = 'AVAILABLE' and not_before <= $6 and not_after > $7"
// kernel/messaging/key-package.ts `chooseKeyPackage` for all devices in one statement. It skips rows that another claim
// has locked, so claims do not wait for each other.
const takeText = `
with target as (
  select id as device_id, user_id = any($8::text[]) as is_blocked from messaging_device
  where (user_id = any($1::text[]) or id = any($2::text[]))
    and app_id = $3 and tenant_id = $4 and status = 'ACTIVE' and id <> $5
), picked as (
  select chosen.ref from target cross join lateral (
    select ref from key_package
    where device_id = target.device_id and not is_blocked and not is_last_resort and ${claimable}
    order by not_after, ref limit 1 for update skip locked
  ) chosen
), taken as (
  update key_package set status = 'CLAIMED' from picked where key_package.ref = picked.ref
  returning ${keyPackageColumns.map((column) => `key_package.${column}`).join(", ")}
)
select target.device_id as target_id, ${keyPackageColumns.map((column) => `coalesce(taken.${column}, last.${column}) as ${column}`).join(", ")}
from target left join taken on taken.device_id = target.device_id
left join lateral (
  select * from key_package
  where device_id = target.device_id and not is_blocked and is_last_resort and ${claimable} limit 1
) last on taken.ref is null
order by target.device_id`
// The users of the targets who block the requester.
const blockersText = `select user_id from block_list
where app_id = $1 and tenant_id = $2 and $3::text = any(blocked_user_ids) and user_id <> all($4::text[])
  and (user_id = any($5::text[]) or user_id in (select user_id from messaging_device where id = any($6::text[])))`
const recordText = `insert into claim_package (requester_device_id, claim_id, ref)
select $1::text, $2::text, ref from unnest($3::bytea[]) as ref`
const withoutText = "update claim set without_device_ids = $3 where requester_device_id = $1 and id = $2"
const lowText = `select device.id from unnest($1::text[]) as device (id)
where (
  select count(*) from key_package
  where device_id = device.id and not is_last_resort and status = 'AVAILABLE' and not_before <= $2 and not_after > $3
) < ${keyPackagePool.lowWater} order by device.id`
const findText = "select * from claim where requester_device_id = $1 and id = $2"
const packagesText = `select ${keyPackageColumns.map((column) => `key_package.${column}`).join(", ")}
from claim_package join key_package on key_package.ref = claim_package.ref
where requester_device_id = $1 and claim_id = $2 order by device_id`

export const claimPackages =
  ({ transact }: Access): KeyPackages["claim"] =>
  (of, nowMs, audit) =>
    transact<Awaited<ReturnType<KeyPackages["claim"]>>>(async (trx, log) => {
      const { id, requester, conversationId, targets, addable, place, requestHash } = of
      await lockPlaceGate(trx, place, requester.deviceId)
      const blockers = await run<{ user_id: PrincipalId }>(trx, blockersText, [
        ...placeOf(place),
        requester.userId,
        addable,
        targets.userIds,
        targets.deviceIds,
      ])
      const blockerIds = blockers.map((row) => row.user_id)
      const own = [requester.deviceId, id] as const
      const first = [id, requester.deviceId, conversationId, requestHash, at(nowMs)]
      if ((await run(trx, insertText, first)).length === 0) {
        const claim = await findClaim(trx, own)
        const decision = decideClaim(claim, { requestHash, requesterDeviceId: requester.deviceId })
        if (claim === undefined || decision !== "again") return { is: "mismatch" }
        return { is: "claimed", claim: withoutPackagesOf(claim, blockerIds), low: [] }
      }
      const taken = await run<{ target_id: DeviceId } & (KeyPackageRow | { ref: null })>(trx, takeText, [
        targets.userIds,
        targets.deviceIds,
        ...placeOf(place),
        requester.deviceId,
        ...claimableAt(nowMs),
        blockerIds,
      ])
      const packages = taken.flatMap((row) => (row.ref === null ? [] : [keyPackageOf(row)]))
      const withoutDeviceIds = taken.flatMap((row) => (row.ref === null ? [row.target_id] : []))
      if (packages.length > 0) await run(trx, recordText, [...own, buffers(packages.map(({ ref }) => ref))])
      if (withoutDeviceIds.length > 0) await run(trx, withoutText, [...own, withoutDeviceIds])
      const devices = taken.map((row) => row.target_id)
      const low = await run<{ id: DeviceId }>(trx, lowText, [devices, ...claimableAt(nowMs)])
      await appendAudit(log, [audit])
      const claim: ClaimRecord = {
        id,
        requesterDeviceId: requester.deviceId,
        conversationId,
        requestHash,
        packages,
        withoutDeviceIds,
        claimedAtMs: nowMs,
      }
      return { is: "claimed", claim, low: low.map((row) => row.id) }
    })

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
