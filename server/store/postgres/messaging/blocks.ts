import type { PrincipalId } from "@signet/kernel/ids"
import { type BlockDecision, decideBlock, emptyBlockList } from "@signet/kernel/messaging/block"
import { isReadable, type PlaceState, placeHeld } from "@signet/kernel/messaging/moving"
import type { Blocks } from "@signet/kernel/messaging/ports"
import type { BlockList } from "@signet/kernel/messaging/records"
import { type Database, run } from "../sql.ts"
import { type Access, appendAudit, placeOf } from "./access.ts"
import { isGateOpen, lockPlaceGate } from "./moving/gates.ts"

export interface BlockListRow {
  version: number
  blocked_user_ids: PrincipalId[]
}

const findText = `select version, blocked_user_ids, (
  select state from messaging_place place where place.app_id = $1 and place.tenant_id = $2
) as place_state
from (select 1) one left join block_list on app_id = $1 and tenant_id = $2 and user_id = $3`
const makeText = `insert into block_list (app_id, tenant_id, user_id, version, blocked_user_ids)
values ($1, $2, $3, 0, '{}') on conflict do nothing`
const lockText = `select version, blocked_user_ids from block_list
where app_id = $1 and tenant_id = $2 and user_id = $3 for update`
const putText = `update block_list set version = $4, blocked_user_ids = $5
where app_id = $1 and tenant_id = $2 and user_id = $3`
const blockersText = `select user_id from block_list
where app_id = $1 and tenant_id = $2 and user_id = any($3::text[]) and $4::text = any(blocked_user_ids)`

const ofListGate = isGateOpen("list.app_id", "list.tenant_id", "list.user_id")
const eraseOwnText = `delete from block_list where (app_id, tenant_id, user_id) in (
  select list.app_id, list.tenant_id, list.user_id from block_list list join messaging_gate gate on ${ofListGate}
  where list.user_id = $1 for share of gate)`
const eraseFromOthersText = `update block_list
set version = version + 1, blocked_user_ids = array_remove(blocked_user_ids, $1::text)
where (app_id, tenant_id, user_id) in (
  select list.app_id, list.tenant_id, list.user_id from block_list list join messaging_gate gate on ${ofListGate}
  where $1::text = any(list.blocked_user_ids) order by list.app_id, list.tenant_id, list.user_id
  for update of list for share of gate)`

/**
 * Deletes the lists of a user who is deleted, and removes the user from the lists of others, except at a place that is
 * being moved. A user who was only removed from a place may return, and stays blocked.
 */
export async function eraseBlocks(db: Database, userId: PrincipalId): Promise<void> {
  await run(db, eraseOwnText, [userId])
  await run(db, eraseFromOthersText, [userId])
}

export function blocks({ ask, transact }: Access): Blocks {
  return {
    async ofUser(userId, place) {
      type Found = { [Column in keyof BlockListRow]: BlockListRow[Column] | null }
      const [row] = await ask<Found & { place_state: PlaceState | null }>(findText, [...placeOf(place), userId])
      if (!isReadable(row?.place_state ?? "OPEN")) throw placeHeld()
      const { version = null, blocked_user_ids = null } = row ?? {}
      return version === null || blocked_user_ids === null ? emptyBlockList : blockListOf({ version, blocked_user_ids })
    },

    change: ({ userId, place, change }, audit) =>
      transact<Awaited<ReturnType<Blocks["change"]>>>(async (trx, log, undo) => {
        await lockPlaceGate(trx, place, userId)
        const own = [...placeOf(place), userId]
        await run(trx, makeText, own)
        const [row] = await run<BlockListRow>(trx, lockText, own)
        const before = row === undefined ? emptyBlockList : blockListOf(row)
        const decision: BlockDecision = decideBlock(before, change)
        if (decision.is === "full") return undo(decision)
        if (decision.is === "there") return undo({ is: "there", list: before })
        const { list } = decision
        await run(trx, putText, [...own, list.version, list.userIds])
        await appendAudit(log, [audit])
        return { is: "done", list }
      }),

    async blockersOf(userId, among, place) {
      if (among.length === 0) return []
      const rows = await ask<{ user_id: PrincipalId }>(blockersText, [...placeOf(place), among, userId])
      return rows.map((row) => row.user_id)
    },
  }
}

export const blockListOf = ({ version, blocked_user_ids }: BlockListRow): BlockList => ({
  version: BigInt(version),
  userIds: blocked_user_ids,
})
