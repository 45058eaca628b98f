import type { AppId, PrincipalId, TenantId } from "@signet/kernel/ids"
import { type Archive, archiveDueAtMs, decideArchive, isArchiveGone } from "@signet/kernel/messaging/archive"
import { isReadable, type PlaceState, placeHeld } from "@signet/kernel/messaging/moving"
import type { Archives } from "@signet/kernel/messaging/ports"
import { atOrNull, type Database, run } from "../sql.ts"
import { type Access, appendAudit, placeOf, tenantOf } from "./access.ts"
import { lockPlaceGate } from "./moving/gates.ts"

interface ArchivesRow {
  archives: readonly Archive[]
}

const findText = `select archives, (
  select state from messaging_place place where place.app_id = $1 and place.tenant_id = $2
) as place_state
from (select 1) one left join archive_list on app_id = $1 and tenant_id = $2 and user_id = $3`
const makeText = `insert into archive_list (app_id, tenant_id, user_id, archives) values ($1, $2, $3, '[]')
on conflict do nothing`
const lockText = `select archives from archive_list
where app_id = $1 and tenant_id = $2 and user_id = $3 for update`
const putText = `update archive_list set archives = $4::jsonb, due_at = $5
where app_id = $1 and tenant_id = $2 and user_id = $3`
// While a place is copied its records must not change.
const dueText = `select app_id, tenant_id, user_id, archives from archive_list list where due_at <= $1 and not exists (
  select 1 from messaging_place place where place.app_id = list.app_id and place.tenant_id = list.tenant_id
    and place.state in ('HOLDING', 'HELD', 'GIVEN') offset 0)
order by due_at limit $2`

export function archives({ ask, transact }: Access): Archives {
  return {
    async ofUser(userId, place) {
      type Found = { archives: readonly Archive[] | null; place_state: PlaceState | null }
      const [row] = await ask<Found>(findText, [...placeOf(place), userId])
      if (!isReadable(row?.place_state ?? "OPEN")) throw placeHeld()
      return row?.archives ?? []
    },

    change: ({ userId, place, change }, nowMs, audit) =>
      transact<Awaited<ReturnType<Archives["change"]>>>(async (trx, log, undo) => {
        await lockPlaceGate(trx, place, userId)
        const own = [...placeOf(place), userId]
        await run(trx, makeText, own)
        const decision = decideArchive(await lock(trx, own), change, nowMs)
        if (decision.is !== "change") return undo(decision)
        await put(trx, own, decision.archives)
        await appendAudit(log, [audit])
        return decision
      }),

    // Also at a place that was moved: the chunks are erased here.
    async due(nowMs, limit) {
      type Found = ArchivesRow & { app_id: AppId; tenant_id: TenantId | ""; user_id: PrincipalId }
      const rows = await ask<Found>(dueText, [atOrNull(nowMs), limit])
      return rows.flatMap((row) =>
        row.archives
          .filter((archive) => isArchiveGone(archive, nowMs))
          .map((archive) => ({
            userId: row.user_id,
            place: { appId: row.app_id, tenantId: tenantOf(row.tenant_id) },
            archive,
          })),
      )
    },

    forget: ({ userId, place }, id, nowMs) =>
      transact(async (trx) => {
        const own = [...placeOf(place), userId]
        const before = await lock(trx, own)
        const after = before.filter((one) => one.id !== id || !isArchiveGone(one, nowMs))
        if (after.length < before.length) await put(trx, own, after)
      }),
  }
}

async function lock(trx: Database, own: readonly string[]): Promise<readonly Archive[]> {
  const [row] = await run<ArchivesRow>(trx, lockText, own)
  return row?.archives ?? []
}

/** Locks and writes a user's archives. */
export async function rewrite(
  trx: Database,
  own: readonly string[],
  change: (before: readonly Archive[]) => readonly Archive[],
): Promise<void> {
  await run(trx, makeText, own)
  await put(trx, own, change(await lock(trx, own)))
}

async function put(trx: Database, own: readonly string[], next: readonly Archive[]): Promise<void> {
  await run(trx, putText, [...own, JSON.stringify(next), atOrNull(archiveDueAtMs(next))])
}
