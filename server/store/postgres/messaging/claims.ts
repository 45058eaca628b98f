// Claims one key package per device. No package is claimed twice, except a last resort. Claims that arrive together are one
// statement. It waits only for another process that writes one of these claims.
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { ClaimId, ConversationId, DeviceId, PrincipalId } from "@signet/kernel/ids"
import { withoutPackagesOf } from "@signet/kernel/messaging/block"
import { decideClaim } from "@signet/kernel/messaging/key-package"
import { keyPackagePool, maxCount } from "@signet/kernel/messaging/limits"
import { placeHeld } from "@signet/kernel/messaging/moving"
import type { KeyPackages } from "@signet/kernel/messaging/ports"
import type { ClaimRecord } from "@signet/kernel/messaging/records"
import { appendAllCtes, appendValues } from "../audit/audit.ts"
import { auditTypes } from "../audit/audit-row.ts"
import { batched } from "../batches.ts"
import { byParameter } from "../limits/count-several.ts"
import { array, bytes, type Database, run } from "../sql.ts"
import { type Access, appendAudit, isTaken, placeOf } from "./access.ts"
import {
  type CountRow,
  claimableAt,
  countText,
  inventoryOfRow,
  inventoryText,
  type KeyPackageRow,
  keyPackageColumns,
  keyPackageOf,
} from "./key-package-rows.ts"
import { isGateOpen, lockPlaceGate } from "./moving/gates.ts"

const columnsOf = (table: string) => keyPackageColumns.map((column) => `${table}.${column}`).join(", ")
const wantedTypes = {
  app_id: "text",
  tenant_id: "text",
  requester_device_id: "text",
  requester_user_id: "text",
  claim_id: "text",
  conversation_id: "text",
  request_hash: "bytea",
  now_at: "timestamptz",
  until_at: "timestamptz",
}
const wanted = Object.values(wantedTypes).map((type, i) => array(i + 1, type))
/** A claim with more targets runs alone, because others would wait for it. */
const mostTargets = 16
/** The numbers of parameters of a claim, a target, a user whom everyone may add, and an audit event. */
const widths = [wanted.length, 3, 2, Object.keys(auditTypes).length]
const [targets, addable, event] = [wanted.length + 1, wanted.length + 4, wanted.length + 6]
// One time for all calls of a statement, which differ by milliseconds.
const claimable = `status = 'AVAILABLE' and not_before <= (select min(now_at) from wanted)
      and not_after > (select max(until_at) from wanted)`
const isTargetIn = `device.app_id = fresh.app_id and device.tenant_id = fresh.tenant_id and device.status = 'ACTIVE'
      and device.id <> fresh.requester_device_id`
// Records the claims that are new, and takes a package for each of their devices, as `chooseKeyPackage` in
// kernel/messaging/key-package.ts says. It skips packages that another statement has locked. `offset 0`: a lookup for each
// row, see moving/gates.ts. PostgreSQL joins the tables of a statement row by row, so it has few devices.
const claimAllText = `with wanted as materialized (
  select * from unnest(${wanted.join(", ")}) with ordinality as each (${Object.keys(wantedTypes).join(", ")}, place)
), fresh as materialized (
  select wanted.* from wanted
  join messaging_gate gate on ${isGateOpen("wanted.app_id", "wanted.tenant_id", "wanted.requester_device_id")}
  where not exists (
    select from claim where requester_device_id = wanted.requester_device_id and id = wanted.claim_id offset 0
  )
  for share of gate skip locked
), named as materialized (
  select * from unnest(${array(targets, "bigint")}, ${array(targets + 1, "text")}, ${array(targets + 2, "text")})
    as each (place, user_id, device_id)
), target as materialized (
  select place, device.id as device_id, exists (
      select from block_list where app_id = fresh.app_id and tenant_id = fresh.tenant_id
        and user_id = device.user_id and fresh.requester_user_id = any(blocked_user_ids) offset 0
    ) and device.user_id <> all(
      select user_id from unnest(${array(addable, "bigint")}, ${array(addable + 1, "text")}) as each (place, user_id)
      where each.place = fresh.place
    ) as is_blocked
  from fresh cross join lateral (
    select of_user.id, of_user.user_id from named cross join lateral (
      select id, user_id from messaging_device device where user_id = named.user_id and ${isTargetIn} offset 0
    ) of_user where named.place = fresh.place
    union
    select of_id.id, of_id.user_id from named cross join lateral (
      select id, user_id from messaging_device device where id = named.device_id and ${isTargetIn} offset 0
    ) of_id where named.place = fresh.place
  ) device
), sized as materialized (
  select fresh.*, coalesce(devices, 0) as devices, coalesce(sum(devices) over (order by place), 0) as devices_so_far
  from fresh left join (select place, count(*) as devices from target group by place) each using (place)
), fit as materialized (
  select * from sized where devices_so_far <= ${maxCount.subjectsPerCommit}
), numbered as materialized (
  select place, device_id, row_number() over (partition by device_id order by place) as number
  from target where not is_blocked and place in (select place from fit)
), picked as materialized (
  select each.device_id, chosen.ref, row_number() over (
    partition by each.device_id order by chosen.not_after, chosen.ref
  ) as number
  from (select device_id, count(*) as claims from numbered group by device_id) each cross join lateral (
    select ref, not_after from key_package
    where device_id = each.device_id and not is_last_resort and ${claimable}
    order by not_after, ref limit each.claims for update skip locked
  ) chosen
), taken as (
  update key_package set status = 'CLAIMED' from picked join numbered using (device_id, number)
  where key_package.ref = picked.ref returning numbered.place, ${columnsOf("key_package")}
), found as (
  select target.place, target.device_id as target_id, (
      select count(*) from (
        select from key_package
        where device_id = target.device_id and not is_last_resort and ${claimable}
        limit ${keyPackagePool.lowWater} + coalesce(gone.packages, 0)
      ) few
    ) - coalesce(gone.packages, 0) < ${keyPackagePool.lowWater} as is_low,
    ${keyPackageColumns.map((column) => `coalesce(taken.${column}, last.${column}) as ${column}`).join(", ")}
  from target left join taken on taken.place = target.place and taken.device_id = target.device_id
  left join (select device_id, count(*) as packages from picked group by device_id) gone
    on gone.device_id = target.device_id
  left join lateral (
    select * from key_package
    where device_id = target.device_id and not target.is_blocked and is_last_resort and ${claimable} limit 1
  ) last on taken.ref is null
  where target.place in (select place from fit)
), claimed as (
  insert into claim (id, requester_device_id, conversation_id, request_hash, without_device_ids, claimed_at)
  select claim_id, requester_device_id, conversation_id, request_hash, array(
    select target_id from found where found.place = fit.place and ref is null order by target_id
  ), now_at from fit
), recorded as (
  insert into claim_package (requester_device_id, claim_id, ref)
  select requester_device_id, claim_id, ref from found join fit using (place) where ref is not null
), ${appendAllCtes(event, "select place from fit")}
select sized.place as call, sized.devices, sized.place in (select place from fit) as is_fit, own.*, found.* from sized
cross join lateral (${countText("sized.requester_device_id", "sized.now_at", "sized.until_at")} offset 0) own
left join found on found.place = sized.place order by target_id`
// The users of claimed packages who block the requester.
const blockersText = `select user_id from block_list
where app_id = $1 and tenant_id = $2 and $3::text = any(blocked_user_ids) and user_id <> all($4::text[])
  and user_id = any($5::text[])`
const findText = "select * from claim where requester_device_id = $1 and id = $2"
const packagesText = `select ${columnsOf("key_package")}
from claim_package join key_package on key_package.ref = claim_package.ref
where requester_device_id = $1 and claim_id = $2 order by device_id`

/** A device of the targets, with its package if there is one. A claim without devices has one row with null columns. */
type FoundRow = { target_id: DeviceId | null; is_low: boolean } & (KeyPackageRow | { ref: null })
type ClaimedRow = FoundRow & CountRow & { call: number; devices: number; is_fit: boolean }

type Claiming = Parameters<KeyPackages["claim"]>[0]
type Outcome = Awaited<ReturnType<KeyPackages["claim"]>>

interface Call {
  readonly of: Claiming
  readonly nowMs: number
  readonly audit: AuditEvent
}
/** `event` has the values of its audit event. */
type PlainCall = Call & { readonly event: readonly unknown[] }

export function claimPackages(access: Access): KeyPackages["claim"] {
  const runAlone = (call: Call) => claimAlone(access, call)
  const together = batched<PlainCall, Outcome>({
    async runAll(calls) {
      // A repetition waits for the first call.
      const nameOf = ({ of: { id, requester } }: Call) => `${requester.deviceId} ${id}`
      const first = new Map<string, PlainCall>()
      for (const call of calls) if (!first.has(nameOf(call))) first.set(nameOf(call), call)
      // In one order, so that two processes do not wait for each other.
      const distinct = [...first.keys()].sort().flatMap((name) => first.get(name) ?? [])
      const events = distinct.map((call) => call.event)
      const answers = await claimAll(access.ask, distinct, events)
      if ([...answers.values()].some(({ is }) => is === "claimed")) access.audit?.onCommitted()
      return calls.map((call) => (first.get(nameOf(call)) === call ? (answers.get(call) ?? "alone") : "busy"))
    },
    runAlone,
  })
  return (of, nowMs, audit) => {
    const isLarge = of.targets.userIds.length + of.targets.deviceIds.length > mostTargets
    // The first event of a person in a process needs the person's key.
    const event = access.audit === null || isLarge ? undefined : appendValues(access.audit, audit)
    return event === undefined ? runAlone({ of, nowMs, audit }) : together({ of, nowMs, audit, event })
  }
}

/** In a transaction, which waits for the place's gate. */
async function claimAlone({ transact }: Access, { of, nowMs, audit }: Call): Promise<Outcome> {
  const claim = () =>
    transact<Outcome>(async (trx, log) => {
      await lockPlaceGate(trx, of.place, of.requester.deviceId)
      const call = { of, nowMs }
      const answer = (await claimAll((text, values) => run(trx, text, values), [call], [])).get(call)
      if (answer?.is === "claimed") await appendAudit(log, [audit])
      return answer ?? (await claimedBefore(trx, of, nowMs))
    })
  try {
    return await claim()
  } catch (error) {
    // Another call has committed the same claim since the statement began.
    if (!isTaken(error)) throw error
    return claim()
  }
}

/**
 * Claims for several calls.
 *
 * @param events The values of each call's audit event; none to write no events.
 * @returns The answers of the calls whose claims are new, and at a place whose gate is open and not locked. A statement
 *   with many devices leaves out the last calls.
 * @throws If another statement has written one of the claims meanwhile; then it has written nothing.
 */
async function claimAll<Of extends Omit<Call, "audit">>(
  ask: Access["ask"],
  calls: readonly Of[],
  events: readonly (readonly unknown[])[],
): Promise<ReadonlyMap<Of, Outcome>> {
  const own = calls.map(({ of: { id, requester, conversationId, place, requestHash }, nowMs }) => [
    ...placeOf(place),
    requester.deviceId,
    requester.userId,
    id,
    conversationId,
    requestHash,
    ...claimableAt(nowMs),
  ])
  const named = calls.flatMap(({ of: { targets } }, i) => [
    ...targets.userIds.map((userId) => [i + 1, userId, null]),
    ...targets.deviceIds.map((deviceId) => [i + 1, null, deviceId]),
  ])
  const addable = calls.flatMap(({ of }, i) => of.addable.map((userId) => [i + 1, userId]))
  const values = [own, named, addable, events].flatMap((of, i) => byParameter(of, widths[i] ?? 0))
  const rows = Map.groupBy(await ask<ClaimedRow>(claimAllText, values), ({ call }) => call)
  const answers = new Map<Of, Outcome>()
  for (const [i, call] of calls.entries()) {
    const some = rows.get(i + 1) ?? []
    if (some[0]?.is_fit) answers.set(call, claimedOf(call, some))
    else if ((some[0]?.devices ?? 0) > maxCount.subjectsPerCommit) answers.set(call, { is: "tooMany" })
  }
  return answers
}

function claimedOf({ of, nowMs }: Omit<Call, "audit">, rows: readonly ClaimedRow[]) {
  const found = rows.flatMap((row) => (row.target_id === null ? [] : [{ ...row, target_id: row.target_id }]))
  const claim: ClaimRecord = {
    id: of.id,
    requesterDeviceId: of.requester.deviceId,
    conversationId: of.conversationId,
    requestHash: of.requestHash,
    packages: found.flatMap((row) => (row.ref === null ? [] : [keyPackageOf(row)])),
    withoutDeviceIds: found.flatMap((row) => (row.ref === null ? [row.target_id] : [])),
    claimedAtMs: nowMs,
  }
  const low = found.flatMap((row) => (row.is_low ? [row.target_id] : []))
  return { is: "claimed", claim, low, inventory: inventoryOfRow(rows[0]) } as const
}

/**
 * An earlier claim with this id, without the packages of users who block the requester by now.
 *
 * @throws Refused PLACE_HELD without one: the place was closed after its gate was locked
 */
async function claimedBefore(trx: Database, of: Claiming, nowMs: number): Promise<Outcome> {
  const { id, requester, requestHash, place, addable } = of
  const claim = await findClaim(trx, [requester.deviceId, id])
  if (claim === undefined) throw placeHeld()
  const decision = decideClaim(claim, { requestHash, requesterDeviceId: requester.deviceId })
  if (decision !== "again") return { is: "mismatch" }
  const blockers = await run<{ user_id: PrincipalId }>(trx, blockersText, [
    ...placeOf(place),
    requester.userId,
    addable,
    claim.packages.map(({ userId }) => userId),
  ])
  const blockerIds = blockers.map((row) => row.user_id)
  const [row] = await run<CountRow>(trx, inventoryText, [requester.deviceId, ...claimableAt(nowMs)])
  return { is: "claimed", claim: withoutPackagesOf(claim, blockerIds), low: [], inventory: inventoryOfRow(row) }
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
